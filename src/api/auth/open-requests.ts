/** The requests that are being answered, by their keys: streams and waits end soon after their key is revoked. */
import type { Response } from 'express';
import type { KeyId } from '../../contract/ids.js';
import type { KeyStore } from '../../store/key-store.js';

/** How often keys with open requests are looked at again. */
export const KEY_CHECK_INTERVAL_MS = 2000;

export class OpenRequests {
  readonly #byKey = new Map<KeyId, Set<Response>>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(
    private readonly keys: Pick<KeyStore, 'find'>,
    private readonly intervalMs: number,
  ) {}

  /** Watches a request until its answer has ended. */
  add(key: KeyId, response: Response): void {
    const open = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, open.add(response));
    this.#timer ??= setInterval(() => void this.#check(), this.intervalMs).unref();
    response.once('close', () => {
      open.delete(response);
      if (open.size > 0 || this.#byKey.get(key) !== open) return;
      this.#byKey.delete(key);
      if (this.#byKey.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      for (const [id, open] of [...this.#byKey]) {
        const key = await this.keys.find(id);
        // Cut rather than ended: a reader takes an end for the end of what it follows, and comes back after a cut.
        if (key?.revokedAt !== null) for (const response of [...open]) response.destroy();
      }
    } catch {
      // The store is away: what is open stays so until it can be asked again.
    } finally {
      this.#isChecking = false;
    }
  }
}
