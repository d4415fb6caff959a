/**
 * The sweeper of follow-ups: what is due in the log's database and was not started, it starts.
 *
 * Owns nothing but the nudge: one whose workflow runs is left alone by the engine, and one that was done is not due.
 */
import type { Logger } from 'pino';
import type { Clock } from '../contract/ids.js';
import type { TurnEngine } from '../contract/turn-engine.js';
import type { SessionStore } from '../store/session-store.js';
import { startSweeps, type Sweeper } from './sweeps.js';

/** One that is due for less than this is being started by who ended its turn. */
const QUIET_MS = 5000;
const FIRST_PAUSE_MS = 5000;
/** One that stays due has a workflow that tries it: it is nudged less and less often, down to this. */
const MAX_PAUSE_MS = 300_000;
/** In one sweep; the oldest come first. */
const MAX_FOLLOW_UPS = 10_000;

export interface FollowUpSweeperDeps {
  readonly store: Pick<SessionStore, 'followUps'>;
  readonly engine: Pick<TurnEngine, 'startFollowUp'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** While the engine is away there is nobody to tell. */
  readonly isEngineUp: () => boolean;
}

interface Nudged {
  readonly pauseMs: number;
  readonly nextAt: number;
}

/** Starts sweeping at once, over all that is due, and then over what stays so. */
export function startFollowUpSweeper(deps: FollowUpSweeperDeps): Sweeper {
  const { store, engine, clock, logger, isEngineUp } = deps;
  let nudged = new Map<string, Nudged>();

  const sweepOnce = async (all: boolean): Promise<void> => {
    if (!isEngineUp()) return;
    const now = clock();
    const before = new Date(now - (all ? 0 : QUIET_MS)).toISOString();
    const next = new Map<string, Nudged>();
    for (const ref of await store.followUps.due({ before, limit: MAX_FOLLOW_UPS })) {
      const key = `${ref.uid}/${String(ref.turn)}/${ref.kind}`;
      const last = nudged.get(key);
      if (last !== undefined && !all && last.nextAt > now) {
        next.set(key, last);
        continue;
      }
      const pauseMs = Math.min(MAX_PAUSE_MS, last === undefined ? FIRST_PAUSE_MS : last.pauseMs * 2);
      next.set(key, { pauseMs, nextAt: now + pauseMs });
      await engine.startFollowUp(ref).catch((error: unknown) => {
        next.delete(key);
        logger.warn({ err: error, ...ref }, 'a follow-up could not be told to the engine; it is tried again');
      });
    }
    nudged = next;
  };

  return startSweeps(sweepOnce, { what: 'follow-ups', logger });
}
