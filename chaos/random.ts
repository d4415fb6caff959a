/** Random choices that a seed repeats. */

export interface Random {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  pick<const T>(from: readonly [T, ...T[]]): T;
  chance(probability: number): boolean;
  /** Another source, which draws from this one once. */
  fork(): Random;
}

/** mulberry32: small, and the same everywhere. */
export function seeded(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    pick: (from) => from[between(0, from.length - 1)] ?? from[0],
    chance: (probability) => next() < probability,
    fork: () => seeded(between(0, 2 ** 31)),
  };
}
