/** What the rooms need from the engine: nudges. The facts stand in the log; a nudge that is lost is given again. */
import type { AskRef } from './agent-turn.js';
import type { FollowUpRef } from './follow-up.js';
import type { SessionUid } from './ids.js';

export interface TurnEngine {
  /** Starts the workflow of an open turn; one that runs already is left alone. */
  startTurn(uid: SessionUid, turn: number): Promise<void>;
  /** Tells the workflow that an approval was decided or a question answered; one that is over is left alone. */
  tellDecision(uid: SessionUid, turn: number, ask: AskRef): Promise<void>;
  /** Tells the workflow that a cancel stands in the log; one that is over is left alone. */
  cancelTurn(uid: SessionUid, turn: number): Promise<void>;
  /** Starts the workflow of a follow-up that is due; one that runs already is left alone. */
  startFollowUp(ref: FollowUpRef): Promise<void>;
}
