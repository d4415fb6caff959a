/**
 * Tells the engine what the log has already (DESIGN, principle 2): after the commit, and without waiting for it.
 *
 * A nudge that fails is logged and no more: the sweeper finds the open turn and gives it again.
 */
import type { AskRef } from '../contract/agent-turn.js';
import type { SessionUid } from '../contract/ids.js';
import type { AppDeps } from './app-deps.js';

export interface EngineNudge {
  start(uid: SessionUid, turn: number): void;
  decision(uid: SessionUid, turn: number, ask: AskRef): void;
  cancel(uid: SessionUid, turn: number): void;
}

export function createEngineNudge({ engine, logger }: Pick<AppDeps, 'engine' | 'logger'>): EngineNudge {
  const logFailure = (what: string, uid: SessionUid, turn: number) => (error: unknown) => {
    logger.warn({ err: error, uid, turn }, `${what} did not reach the engine; the sweeper makes it good`);
  };
  return {
    start: (uid, turn) => {
      engine.startTurn(uid, turn).catch(logFailure('the start of a turn', uid, turn));
    },
    decision: (uid, turn, ask) => {
      engine.tellDecision(uid, turn, ask).catch(logFailure('a decision', uid, turn));
    },
    cancel: (uid, turn) => {
      engine.cancelTurn(uid, turn).catch(logFailure('a cancel', uid, turn));
    },
  };
}
