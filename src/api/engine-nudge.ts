/**
 * Tells the engine what the log has already (DESIGN, principle 2): after the commit, and without waiting for it.
 *
 * A nudge that fails is logged and no more: the sweeper finds the open turn and gives it again.
 */
import type { SessionUid } from '../contract/ids.js';
import type { AppDeps } from './app-deps.js';

export interface EngineNudge {
  start(uid: SessionUid, turn: number): void;
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
    cancel: (uid, turn) => {
      engine.cancelTurn(uid, turn).catch(logFailure('a cancel', uid, turn));
    },
  };
}
