/** What the rooms need from the engine: nudges. The facts stand in the log; a nudge that is lost is given again. */
import type { SessionUid } from './ids.js';

export interface TurnEngine {
  /** Starts the workflow of an open turn; one that runs already is left alone. */
  startTurn(uid: SessionUid, turn: number): Promise<void>;
  /** Tells the workflow that a cancel stands in the log; one that is over is left alone. */
  cancelTurn(uid: SessionUid, turn: number): Promise<void>;
}
