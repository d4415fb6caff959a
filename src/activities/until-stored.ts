/** Keeps what an attempt has in its hands until the log takes it: what was paid for or done once is not done again. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StoreError } from '../store/session-store.js';
import type { AttemptScope } from './activity-scope.js';

const PAUSE_MS = 500;

/**
 * Runs a transaction again and again for as long as the store is away, as with a full disk, and the attempt is not
 * stopped.
 *
 * @throws what the transaction throws for any other reason.
 */
export async function untilStored<T>(
  { scope, logger }: { readonly scope: AttemptScope; readonly logger: Pick<Logger, 'warn'> },
  transact: () => Promise<T>,
): Promise<T> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await transact();
    } catch (error) {
      const isAway = error instanceof StoreError && error.code === 'STORE_UNAVAILABLE';
      if (!isAway || scope.signal.aborted) throw error;
      if (!isTold) logger.warn({ err: error }, 'what an attempt has done waits until the log can take it');
      // A rejection is the abort: there is one last try.
      await delay(PAUSE_MS, undefined, { signal: scope.signal }).catch(() => undefined);
    }
  }
}
