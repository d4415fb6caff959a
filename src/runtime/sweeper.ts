/**
 * The sweeper closes the gap between log and engine: what stands in the log and was not told, it tells.
 *
 * Owns the nudge, which a turn that runs is left alone by, and a cancel that is told twice changes nothing; so any number
 * of servers may sweep at once. And it sees what no nudge helps: a workflow that this build cannot replay.
 */
import type { Logger } from 'pino';
import type { Clock } from '../contract/ids.js';
import { isOpen } from '../core/asks.js';
import type { TurnEngine } from '../contract/turn-engine.js';
import { StoreError, type OpenTurnRecord, type SessionStore } from '../store/session-store.js';
import { startSweeps, type Sweeper } from './sweeps.js';

/** A turn whose log has not grown for this long is nudged; one that waits or works on is not harmed by it. */
const QUIET_MS = 5000;
const FIRST_PAUSE_MS = 5000;
/** A turn that stays quiet is nudged less and less often, down to this. */
const MAX_PAUSE_MS = 300_000;
/** Of one that was quiet for two nudges the engine is asked how its workflow stands. */
const ASKED_AFTER_MS = 2 * FIRST_PAUSE_MS;
/** A workflow task that failed so often in a row will fail again: this build cannot replay it. */
const STUCK_AFTER_TASKS = 3;

export interface SweeperDeps {
  readonly store: SessionStore;
  readonly engine: TurnEngine;
  readonly clock: Clock;
  readonly logger: Logger;
  /** While the engine is away there is nobody to tell. */
  readonly isEngineUp: () => boolean;
}

/** `unreadable`: the log is damaged or of another version, and asking again soon brings nothing. */
type Nudge = 'told' | 'failed' | 'unreadable';

interface Nudged {
  readonly updatedAt: string;
  readonly told: boolean;
  readonly pauseMs: number;
  readonly nextAt: number;
  /** Its workflow cannot go on by itself. */
  readonly isStuck: boolean;
}

export interface TurnSweeper extends Sweeper {
  /** How many open turns have a workflow that cannot go on by itself. */
  stuckTurns(): number;
}

/** Starts sweeping at once, over every open turn, and then over the quiet ones. */
export function startSweeper({ store, engine, clock, logger, isEngineUp }: SweeperDeps): TurnSweeper {
  let nudged = new Map<string, Nudged>();

  /** A workflow takes only so many signals, so what a quiet log has told already is not told again. */
  const tellDecisions = async ({ uid, turn }: OpenTurnRecord): Promise<void> => {
    const { openTurn } = await store.readState(uid);
    const calls = openTurn?.number === turn ? (openTurn.step?.calls ?? []) : [];
    for (const { ask, resultSeq } of calls) {
      if (ask !== null && resultSeq === null && !isOpen(ask)) await engine.tellDecision(uid, turn, ask);
    }
  };

  const nudge = async (record: OpenTurnRecord, isTold: boolean): Promise<Nudge> => {
    const { uid, turn, cancelRequested } = record;
    try {
      await engine.startTurn(uid, turn);
      if (cancelRequested) await engine.cancelTurn(uid, turn);
      if (!isTold) await tellDecisions(record);
      return 'told';
    } catch (error) {
      const isUnreadable = error instanceof StoreError && error.code.startsWith('LOG_');
      logger.warn(
        { err: error, uid, turn },
        isUnreadable
          ? 'the log of an open turn cannot be read, and nothing goes on in it: "turnkeeper doctor" says what to do'
          : 'an open turn could not be told to the engine; it is tried again',
      );
      return isUnreadable ? 'unreadable' : 'failed';
    }
  };

  /** Whether the turn's workflow is stuck, which is told once. */
  const look = async (
    { uid, turn, sessionId, status }: OpenTurnRecord,
    { pauseMs, isStuck }: Nudged,
  ): Promise<boolean> => {
    if (status === 'waiting-approval' || pauseMs < ASKED_AFTER_MS) return isStuck;
    const condition = await engine.describeTurn(uid, turn);
    const isStuckNow = condition.kind === 'running' && condition.failedTasks >= STUCK_AFTER_TASKS;
    if (isStuckNow && !isStuck) {
      logger.error(
        { sessionId, uid, turn, failedTasks: condition.failedTasks },
        'the workflow of a turn cannot be replayed by this build; the turn is kept: start the build that can, or ' +
          'terminate the workflow, and a fresh run goes on from the log',
      );
    }
    return isStuckNow;
  };

  const sweepOnce = async (all: boolean): Promise<void> => {
    if (!isEngineUp()) return;
    const now = clock();
    const open = await store.openTurns(new Date(now - (all ? 0 : QUIET_MS)).toISOString());
    const next = new Map<string, Nudged>();
    for (const record of open) {
      const key = `${record.uid}/${String(record.turn)}`;
      const before = nudged.get(key);
      const same = before?.updatedAt === record.updatedAt ? before : undefined;
      if (same !== undefined && !all && same.nextAt > now) {
        next.set(key, same);
        continue;
      }
      const outcome = await nudge(record, same?.told === true);
      const told = outcome === 'told';
      const pauseMs =
        outcome === 'failed'
          ? FIRST_PAUSE_MS / 2
          : Math.min(MAX_PAUSE_MS, same === undefined ? FIRST_PAUSE_MS : same.pauseMs * 2);
      const isStuck =
        same !== undefined && told
          ? await look(record, same).catch((error: unknown) => {
              logger.warn({ err: error, uid: record.uid }, 'the engine does not say how a turn stands');
              return same.isStuck;
            })
          : false;
      next.set(key, { updatedAt: record.updatedAt, told, pauseMs, nextAt: now + pauseMs, isStuck });
    }
    nudged = next;
  };

  return {
    ...startSweeps(sweepOnce, { what: 'open turns', logger }),
    stuckTurns: () => [...nudged.values()].filter(({ isStuck }) => isStuck).length,
  };
}
