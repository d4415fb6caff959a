/**
 * Notices that nothing could run for a while (no server was there, the machine slept, the engine was away), and says so
 * in the log of every turn that stood still.
 *
 * Owns the notice. What comes of it, such as asking before anything is changed, is folded from the log. The same
 * standstill noticed by several servers, or twice, is told once.
 */
import type { Logger } from 'pino';
import type { Clock } from '../contract/ids.js';
import { interruptionEvents, type OldWork, type Standstill } from '../core/standstill.js';
import { StoreError, type SessionStore } from '../store/session-store.js';

const TICK_MS = 5000;
/** A restart or a short outage is nothing that a log has to tell. */
const MIN_STANDSTILL_MS = 60_000;

export interface StandstillDeps {
  readonly store: SessionStore;
  readonly oldWork: OldWork;
  readonly clock: Clock;
  readonly logger: Logger;
  /** While the engine is away nothing runs. */
  readonly isEngineUp: () => boolean;
}

export interface StandstillWatch {
  /** Looks now. Rejects where the log does not answer. */
  look(): Promise<void>;
  stop(): void;
}

/** Looks once, before anything runs, and then every few seconds. */
export async function watchStandstills(deps: StandstillDeps): Promise<StandstillWatch> {
  const { store, clock, logger, isEngineUp } = deps;

  const lookOnce = async (): Promise<void> => {
    if (!isEngineUp()) return;
    const last = await store.liveness.lastAlive();
    const now = clock();
    const from = last === undefined ? now : Date.parse(last);
    if (now - from >= MIN_STANDSTILL_MS) await tellOpenTurns(deps, { from, to: now });
    // Only now: where this process ends before, the next one sees the same standstill.
    await store.liveness.markAlive(new Date(now).toISOString());
  };

  let running: Promise<void> = Promise.resolve();
  const look = (): Promise<void> => {
    const next = running.catch(() => undefined).then(lookOnce);
    running = next;
    return next;
  };
  await look();
  const timer = setInterval(() => {
    look().catch((error: unknown) => {
      logger.warn({ err: error }, 'the log does not say whether anything stood still; it is asked again');
    });
  }, TICK_MS);
  return {
    look,
    stop: () => {
      clearInterval(timer);
    },
  };
}

async function tellOpenTurns({ store, oldWork, logger }: StandstillDeps, time: Standstill): Promise<void> {
  const open = await store.openTurns(new Date(time.to).toISOString());
  for (const { uid, turn } of open) {
    try {
      await store.transact(uid, async (transaction) => {
        const { openTurn } = transaction.state;
        if (openTurn?.number === turn) await transaction.append(interruptionEvents(openTurn, time, oldWork));
      });
    } catch (error) {
      // A session that was deleted, or whose log is damaged, keeps no other one from being told.
      if (!(error instanceof StoreError) || error.code === 'STORE_UNAVAILABLE') throw error;
      logger.warn({ err: error, uid, turn }, 'a turn was not told that it stood still');
    }
  }
  if (open.length > 0) {
    logger.warn({ ...time, turns: open.length }, 'nothing could run for a while; the open turns go on');
  }
}
