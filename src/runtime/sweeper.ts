/**
 * The sweeper closes the gap between log and engine: what stands in the log and was not told, it tells.
 *
 * Owns nothing but the nudge: a turn that runs is left alone by the engine, and a cancel that is told twice changes
 * nothing. So any number of servers may sweep at once.
 */
import type { Logger } from 'pino';
import type { Clock } from '../contract/ids.js';
import { isOpen } from '../core/asks.js';
import type { TurnEngine } from '../contract/turn-engine.js';
import type { OpenTurnRecord, SessionStore } from '../store/session-store.js';
import { startSweeps, type Sweeper } from './sweeps.js';

/** A turn whose log has not grown for this long is nudged; one that waits or works on is not harmed by it. */
const QUIET_MS = 5000;
const FIRST_PAUSE_MS = 5000;
/** A turn that stays quiet is nudged less and less often, down to this. */
const MAX_PAUSE_MS = 300_000;

export interface SweeperDeps {
  readonly store: SessionStore;
  readonly engine: TurnEngine;
  readonly clock: Clock;
  readonly logger: Logger;
  /** While the engine is away there is nobody to tell. */
  readonly isEngineUp: () => boolean;
}

interface Nudged {
  readonly updatedAt: string;
  readonly told: boolean;
  readonly pauseMs: number;
  readonly nextAt: number;
}

/** Starts sweeping at once, over every open turn, and then over the quiet ones. */
export function startSweeper({ store, engine, clock, logger, isEngineUp }: SweeperDeps): Sweeper {
  let nudged = new Map<string, Nudged>();

  /** A workflow takes only so many signals, so what a quiet log has told already is not told again. */
  const tellDecisions = async ({ uid, turn }: OpenTurnRecord): Promise<void> => {
    const { openTurn } = await store.readState(uid);
    const calls = openTurn?.number === turn ? (openTurn.step?.calls ?? []) : [];
    for (const { ask, resultSeq } of calls) {
      if (ask !== null && resultSeq === null && !isOpen(ask)) await engine.tellDecision(uid, turn, ask);
    }
  };

  const nudge = async (record: OpenTurnRecord, isTold: boolean): Promise<boolean> => {
    const { uid, turn, cancelRequested } = record;
    try {
      await engine.startTurn(uid, turn);
      if (cancelRequested) await engine.cancelTurn(uid, turn);
      if (!isTold) await tellDecisions(record);
      return true;
    } catch (error) {
      logger.warn(
        { err: error, uid, turn },
        'an open turn could not be told to the engine; it is tried again',
      );
      return false;
    }
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
      const told = await nudge(record, same?.told === true);
      const pauseMs = told
        ? Math.min(MAX_PAUSE_MS, same === undefined ? FIRST_PAUSE_MS : same.pauseMs * 2)
        : FIRST_PAUSE_MS / 2;
      next.set(key, { updatedAt: record.updatedAt, told, pauseMs, nextAt: now + pauseMs });
    }
    nudged = next;
  };

  return startSweeps(sweepOnce, { what: 'open turns', logger });
}
