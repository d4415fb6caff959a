/** What is said of a list of measured values. Pure. */

/** The value below which the share lies, by the nearest rank; NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function worst(values: readonly number[]): number {
  return Math.max(...values);
}

/** The differences between neighbours: as many as there are values, less one. */
export function intervals(instants: readonly number[]): number[] {
  return instants.slice(1).map((instant, index) => instant - instants[index]!);
}
