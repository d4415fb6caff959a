/** Processor time of running processes, from /proc: a measure that other work on the machine hardly disturbs. */
import { readFileSync } from 'node:fs';

/** The kernel's unit in /proc/<pid>/stat; 100 a second on every Linux that is met. */
const TICK_MS = 10;

/** User and system time that the process has used so far, in milliseconds; 0 where there is no /proc. */
export function processorTimeMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    // Not Linux, or gone: there is nothing to say.
    return 0;
  }
}
