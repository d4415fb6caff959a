/** The clock of all measurements: monotonic, and the same in every process of the machine. */

/** Milliseconds since an instant that is the same for all processes (on Linux, the boot). */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
