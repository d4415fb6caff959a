/** How long to wait before the next attempt of a model call. Pure: the caller brings the randomness. */

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
const JITTER = 0.1;

export interface RetryDelay {
  readonly delayMs: number;
  readonly from: 'retry-after' | 'backoff';
}

/**
 * The provider's own wait where it named one, else `min(500 ms * 2^(attempt-1), 30 s)` with 10 % jitter either way.
 *
 * @param options.attempt the attempt that failed, from 1.
 * @param options.retryAfterMs what the provider asked for; it is waited in full, however long it is.
 * @param options.random a number from 0 (inclusive) to 1 (exclusive), such as `Math.random()`.
 */
export function retryDelay(options: {
  readonly attempt: number;
  readonly retryAfterMs?: number | undefined;
  readonly random: number;
}): RetryDelay {
  if (options.retryAfterMs !== undefined) {
    return { delayMs: Math.ceil(options.retryAfterMs), from: 'retry-after' };
  }
  const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** (options.attempt - 1), MAX_BACKOFF_MS);
  return { delayMs: Math.round(backoff * (1 - JITTER + 2 * JITTER * options.random)), from: 'backoff' };
}
