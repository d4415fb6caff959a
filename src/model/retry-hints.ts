/** What an answer's headers say about another attempt: whether, and when. */
import type { Clock } from '../contract/ids.js';

/** A longer wait is taken for a mistake of the provider and cut to this. */
const MAX_RETRY_AFTER_MS = 7 * 24 * 3_600_000;

export interface RetryHints {
  readonly shouldRetry?: boolean;
  readonly retryAfterMs?: number;
}

/**
 * Reads `x-should-retry`, `retry-after-ms` and `retry-after` (seconds or an HTTP date, RFC 9110 10.2.3); milliseconds
 * win over seconds. What cannot be read is left out.
 */
export function retryHints(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: Clock,
): RetryHints {
  const should = one(headers['x-should-retry']);
  const retryAfterMs =
    wait(number(one(headers['retry-after-ms']))) ?? retryAfter(one(headers['retry-after']), now);
  return {
    ...(should === 'true' || should === 'false' ? { shouldRetry: should === 'true' } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function retryAfter(value: string | undefined, now: Clock): number | undefined {
  const seconds = number(value);
  if (seconds !== undefined) return wait(seconds * 1000);
  if (value === undefined || !/[a-z]{3}/i.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : wait(at - now());
}

function wait(milliseconds: number | undefined): number | undefined {
  if (milliseconds === undefined) return undefined;
  return Math.ceil(Math.min(Math.max(milliseconds, 0), MAX_RETRY_AFTER_MS));
}

function number(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
