/** Random numbers that are the same in every run, for tests over many cases. */

/** Numbers from 0 to below 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The bytes in pieces of random length, some of them empty. */
export function randomPieces(bytes: Uint8Array, random: () => number, longest = 12): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = start + Math.floor(random() * (longest + 1));
    pieces.push(bytes.subarray(start, end));
    start = end;
  }
  return pieces;
}
