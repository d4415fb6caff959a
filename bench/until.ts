/** Waits on a state by asking for it. The instants of measurements come from whoever saw them, never from here. */
import { setTimeout as wait } from 'node:timers/promises';

const POLL_MS = 5;
const TIMEOUT_MS = 300_000;

/**
 * The first value that `look` gives.
 *
 * @throws Error that names `what` where there is none after five minutes.
 */
export async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() > deadline)
      throw new Error(`There was no ${what} within ${String(TIMEOUT_MS)} ms.`);
    await wait(POLL_MS);
  }
}
