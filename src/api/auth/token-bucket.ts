/** A rate limit: so many requests a minute, and as many at once after a pause. */
import type { Clock } from '../../contract/ids.js';

const MINUTE_MS = 60_000;

export class TokenBucket {
  #tokens: number;
  #at: number;

  constructor(
    private readonly perMinute: number,
    private readonly clock: Clock,
  ) {
    this.#tokens = perMinute;
    this.#at = clock();
  }

  /** Takes one and returns 0, or returns in how many milliseconds there is one. */
  take(): number {
    const now = this.clock();
    // A clock that was put back fills nothing.
    const filled = (Math.max(0, now - this.#at) * this.perMinute) / MINUTE_MS;
    this.#tokens = Math.min(this.perMinute, this.#tokens + filled);
    this.#at = now;
    if (this.#tokens < 1) return Math.ceil(((1 - this.#tokens) * MINUTE_MS) / this.perMinute);
    this.#tokens -= 1;
    return 0;
  }
}
