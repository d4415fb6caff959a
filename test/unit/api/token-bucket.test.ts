import { describe, expect, it } from 'vitest';
import { TokenBucket } from '../../../src/api/auth/token-bucket.js';

let now = 0;
const bucket = (perMinute: number) => {
  now = 1_000_000;
  return new TokenBucket(perMinute, () => now);
};
const takeAll = (from: TokenBucket) => {
  let taken = 0;
  while (from.take() === 0) taken += 1;
  return taken;
};

describe('a rate limit', () => {
  it('lets a minute of requests pass at once, and says when the next one may', () => {
    const limit = bucket(60);
    expect(takeAll(limit)).toBe(60);
    expect(limit.take()).toBe(1000);
    now += 400;
    expect(limit.take()).toBe(600);
    now += 600;
    expect(limit.take()).toBe(0);
    expect(limit.take()).toBe(1000);
  });

  it('holds over any time: so many a minute and no more', () => {
    const limit = bucket(30);
    let taken = takeAll(limit);
    for (let second = 0; second < 600; second += 1) {
      now += 1000;
      taken += takeAll(limit);
    }
    expect(taken).toBe(30 + 300);
  });

  it('saves up no more than a minute', () => {
    const limit = bucket(5);
    now += 24 * 3_600_000;
    expect(takeAll(limit)).toBe(5);
  });

  it('is not filled by a clock that is put back and forth', () => {
    const limit = bucket(6);
    takeAll(limit);
    now -= 3_600_000;
    expect(limit.take()).toBeGreaterThan(0);
    now += 10_000;
    expect(takeAll(limit)).toBe(1);
  });
});
