/** What the rooms need from the engine: nudges. The facts stand in the log; a nudge that is lost is given again. */
import type { AskRef } from './agent-turn.js';
import type { FollowUpRef } from './follow-up.js';
import type { SessionUid } from './ids.js';

/** Being told twice, late or in vain changes nothing. */
export interface TurnNudges {
  /** Starts the workflow of an open turn; one that runs already is left alone. */
  startTurn(uid: SessionUid, turn: number): Promise<void>;
  /** Tells the workflow that an approval was decided or a question answered; one that is over is left alone. */
  tellDecision(uid: SessionUid, turn: number, ask: AskRef): Promise<void>;
  /** Tells the workflow that a cancel stands in the log; one that is over is left alone. */
  cancelTurn(uid: SessionUid, turn: number): Promise<void>;
  /** Starts the workflow of a follow-up that is due; one that runs already is left alone. */
  startFollowUp(ref: FollowUpRef): Promise<void>;
}

export interface TurnEngine extends TurnNudges {
  /** How the workflow of a turn stands with the engine, for the sweeper and for who asks why a turn does not move. */
  describeTurn(uid: SessionUid, turn: number): Promise<WorkflowCondition>;
}

/** How a workflow stands with the engine. */
export type WorkflowCondition =
  /** The engine knows no run of it: it was not started yet, or the engine has lost it. */
  | { readonly kind: 'missing' }
  | {
      readonly kind: 'closed';
      readonly status: 'completed' | 'failed' | 'canceled' | 'terminated' | 'timed-out';
    }
  | {
      readonly kind: 'running';
      /** Tries of its workflow task that failed in a row; more than a few mean that this build cannot replay it. */
      readonly failedTasks: number;
      readonly activities: readonly PendingActivity[];
    };

/** An activity that has not ended. */
export interface PendingActivity {
  readonly activityId: string;
  readonly type: string;
  readonly state: 'scheduled' | 'started' | 'cancel-requested';
  /** From 1. */
  readonly attempt: number;
  /** The type of the failure that its last attempt ended with. */
  readonly lastFailure?: string;
  /** When the next attempt is due, ISO 8601; set while it waits for it. */
  readonly nextAttemptAt?: string;
  /** The last worker that had it. */
  readonly workerIdentity?: string;
}
