import { describe, expect, it } from 'vitest';
import { retryDelay } from '../../../src/model/retry-delay.js';

describe('the delay before another attempt', () => {
  it('doubles from 500 ms and stays at 30 s', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 50, 5000].map(
      (attempt) => retryDelay({ attempt, random: 0.5 }).delayMs,
    );
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
  });

  it('varies by 10 % either way', () => {
    expect(retryDelay({ attempt: 1, random: 0 })).toEqual({ delayMs: 450, from: 'backoff' });
    expect(retryDelay({ attempt: 1, random: 0.9999 })).toEqual({ delayMs: 550, from: 'backoff' });
  });

  it('is the wait that the provider asked for, in full and without jitter', () => {
    expect(retryDelay({ attempt: 3, retryAfterMs: 7_200_000, random: 0 })).toEqual({
      delayMs: 7_200_000,
      from: 'retry-after',
    });
    expect(retryDelay({ attempt: 3, retryAfterMs: 0, random: 0.3 })).toEqual({
      delayMs: 0,
      from: 'retry-after',
    });
  });
});
