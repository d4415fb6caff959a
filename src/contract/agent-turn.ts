/**
 * What passes between the `agentTurn` workflow, its activities and those who start it.
 *
 * Everything here enters Temporal's history, so it holds ids, numbers and small enums only: nothing that a user, a model
 * or a provider wrote (DESIGN, principle 3).
 */
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { FinishReason } from './chunks.js';
import type { ApprovalId, QuestionId, SessionUid } from './ids.js';

/** The workflow type. */
export const AGENT_TURN_WORKFLOW = 'agentTurn';

/** The task queue of turns and model calls. */
export const TURN_TASK_QUEUE = 'turnkeeper';

/** The task queue of tools that touch a workspace on one host. */
export function toolTaskQueue(hostId: string): string {
  return `${TURN_TASK_QUEUE}-tools@${hostId}`;
}

/** What the workflow needs from the configuration, recorded at the start: workflow code reads none. */
export interface TurnPolicy {
  /** How long a model or tool activity may be silent before its worker counts as dead. */
  readonly heartbeatMs: number;
  /** Time the turn has in all, leaving out waits for a person; null is no limit. */
  readonly wallTimeMs: number | null;
  readonly maxParallelToolCalls: number;
  /** The most that the hooks between two steps take together; absent: there are none. */
  readonly betweenStepsMs?: number;
}

/** The workflow's input. `completedStep` is set by continue-as-new only. */
export interface AgentTurnInput {
  readonly uid: SessionUid;
  readonly turn: number;
  readonly policy: TurnPolicy;
  readonly completedStep?: number;
  /** Milliseconds of the wall time that the runs before this one have used; set by continue-as-new only. */
  readonly usedMs?: number;
}

/** The workflow run on whose behalf an activity acts. */
export interface TurnRun {
  /** The first run of the continue-as-new chain. */
  readonly runId: string;
}

export interface TurnRef {
  readonly uid: SessionUid;
  readonly turn: number;
  readonly run: TurnRun;
}
export interface StepRef extends TurnRef {
  readonly step: number;
}
export interface CallRef extends StepRef {
  /** The call's place in its message, from 0. */
  readonly index: number;
  readonly mode: PlannedCall['mode'];
}

/** Why the workflow asks `advance` to end the turn now. `superseded`: an attempt was refused; the log says why. */
export type TurnStop =
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'time' }
  | { readonly kind: 'superseded' }
  | { readonly kind: 'failed'; readonly code: string };

/** `completedStep` is the step whose calls have all settled, 0 at the entry of the turn. */
export interface AdvanceInput extends TurnRef {
  readonly completedStep: number;
  readonly stop?: TurnStop;
}

/** Asks what is left of the turn's time. */
export interface TimeLeftInput extends TurnRef {
  readonly limitMs: number;
}

/** Where the turn goes on: a step whose model call is due, or nowhere. `superseded`: another run owns the turn. */
export type AdvanceOutcome =
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'ended' }
  | { readonly kind: 'superseded' };

/** What a person is asked: the right to run a call, or questions of the model. */
export type AskRef =
  | { readonly kind: 'approval'; readonly approvalId: ApprovalId }
  | { readonly kind: 'question'; readonly questionId: QuestionId };

/** How one call is to be run. */
export interface PlannedCall {
  readonly mode: 'parallel' | 'exclusive';
  /** Set where a person is asked first; `expiresAt` in milliseconds since the epoch. */
  readonly asked?: { readonly id: ApprovalId | QuestionId; readonly expiresAt?: number };
}

/** `waiting`: the person who was asked has not answered, whatever the engine was told. */
export type RunToolOutcome = 'settled' | 'waiting';

/** `aborted`: a cancel reached the call, or the log is past it; the log has what there is to know. */
export type CallModelOutcome =
  | {
      readonly kind: 'settled';
      readonly finish: FinishReason;
      /** The calls that are to be run; none where all were quick and have their results staged already. */
      readonly calls: readonly PlannedCall[];
      /** The host whose tool queue has the workspace. */
      readonly hostId: string;
    }
  | { readonly kind: 'aborted' };

/** The activities of the turn, as the workflow sees them: one object in, one object out. */
export interface TurnActivities {
  readonly advance: (input: AdvanceInput) => Promise<AdvanceOutcome>;
  /** Milliseconds by the log, whose clock stands still while anything that the turn asked is open; at least 0. */
  readonly readTimeLeft: (input: TimeLeftInput) => Promise<number>;
  readonly callModel: (input: StepRef) => Promise<CallModelOutcome>;
  /** Stages the call's result, unless a person has yet to answer. */
  readonly runTool: (input: CallRef) => Promise<RunToolOutcome>;
}

/** Failure types of activities, by which the workflow routes them. */
export const ACTIVITY_FAILURE = {
  /** The model call failed for good; the log has the reason. */
  modelCallFailed: 'ModelCallFailed',
  /** The model call failed and is to be tried again after a delay. */
  modelAttemptFailed: 'ModelAttemptFailed',
  /** The model call failed, and a limit on tokens or cost leaves no room for another attempt. */
  spendingLimitReached: 'SpendingLimitReached',
  /** The attempt was given up: another one or another run has its place. */
  attemptSuperseded: 'AttemptSuperseded',
  /** The session log does not answer; the activity is tried again until it does. */
  storeUnavailable: 'StoreUnavailable',
  /** A follow-up of a turn was not done, and is to be tried again. */
  followUpFailed: 'FollowUpFailed',
  /** The worker shuts down; the next one goes on. */
  workerShutdown: 'WorkerShutdown',
  /** The worker was dead when its host was started again; the next one goes on. */
  workerDied: 'WorkerDied',
} as const;

/** What `getTurnStatus` answers: where the workflow is. The log says what happened. */
export interface TurnStatus {
  readonly step: number;
  readonly phase: 'advancing' | 'model' | 'tools' | 'waiting' | 'ended';
}

/** Nudges: the approval or the question stands answered in the log. An id that nothing waits for changes nothing. */
export const decideApprovalSignal = defineSignal<[{ readonly approvalId: ApprovalId }]>('decideApproval');
export const answerQuestionSignal = defineSignal<[{ readonly questionId: QuestionId }]>('answerQuestion');

export const getTurnStatusQuery = defineQuery<TurnStatus>('getTurnStatus');
