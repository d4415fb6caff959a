/**
 * The open turn as the state has it: its step, the calls of its message, and what people were asked about them.
 *
 * Owns the shapes and how a part is replaced. Which event changes what is in `session-state.ts` and `ask-state.ts`.
 */
import type { FinishReason } from '../contract/chunks.js';
import type { BlobBlock } from '../contract/content.js';
import type { EventData, InboxItem, OldWorkPolicy, Question } from '../contract/events.js';
import type { ApprovalId, CallId, QuestionId, RequestId } from '../contract/ids.js';
import type { SessionSettings } from '../contract/session.js';
import { ZERO_USAGE, type Usage } from '../contract/usage.js';

/** What a person was asked about a call, and how it was closed; null while it is open. */
export type CallAsk =
  | {
      readonly kind: 'approval';
      readonly approvalId: ApprovalId;
      /** What would run: the model's arguments, or what a hook made of them. */
      readonly arguments: string | BlobBlock;
      readonly expiresAt: string | null;
      readonly decision: EventData<'approval/decided'> | null;
    }
  | {
      readonly kind: 'question';
      readonly questionId: QuestionId;
      readonly questions: readonly Question[];
      readonly expiresAt: string | null;
      readonly answer: EventData<'question/answered'> | null;
    };

/** One call of the open step's message. A seq is null until that event stands in the log. */
export interface CallState {
  readonly index: number;
  readonly callId: CallId;
  readonly name: string;
  readonly arguments: string | BlobBlock;
  /** What a person was asked about the call; null where nobody was. */
  readonly ask: CallAsk | null;
  readonly callSeq: number | null;
  /** The attempts that have a receipt (`tool/started`), in their order. */
  readonly startedAttempts: readonly number[];
  readonly resultSeq: number | null;
}

export interface OpenStep {
  readonly number: number;
  /** Attempts of the model call that are settled without a message. */
  readonly lastAttempt: number;
  /** Those of them that the provider failed; only they count against the configured attempts. */
  readonly failedAttempts: number;
  readonly failure: NonNullable<EventData<'assistant/attempt'>['failure']> | null;
  readonly retryAt: string | null;
  /** How many user messages the step has appended. */
  readonly userMessages: number;
  readonly message: { readonly seq: number; readonly finish: FinishReason; readonly attempt: number } | null;
  readonly calls: readonly CallState[];
  readonly concludesTurn: boolean;
}

export interface OpenTurn {
  readonly number: number;
  /** False from admission until the first `advance` has entered it. */
  readonly started: boolean;
  readonly startedAt: string;
  /** Since when the turn waits for a person; null while it does not. */
  readonly waitingSince: string | null;
  /** How long it has waited before, which its limit of time leaves out. */
  readonly waitedMs: number;
  readonly requestIds: readonly RequestId[];
  readonly cancel: EventData<'turn/cancel-requested'> | null;
  readonly steps: number;
  readonly usage: Usage;
  /** The text of the last assistant message, in parts: a part that was moved to the blob store is its block. */
  readonly output: readonly (string | BlobBlock)[];
  readonly step: OpenStep | null;
  /** The session's settings when the turn was entered: later changes hold from the next turn on. */
  readonly settings: SessionSettings | null;
  /** What the turn's prompt chose beyond the session's settings. */
  readonly choice: { readonly provider?: string | undefined; readonly model?: string | undefined };
  /** Nobody can answer what the turn asks. */
  readonly unattended: boolean;
  /** The last standstill that the turn has gone on after; null where there was none, or a person has seen to it since. */
  readonly interruption: Interruption | null;
  /** Fresh runs that took the turn over one after the other, with nothing done in between. */
  readonly fruitlessRuns: number;
  /** What the last message of the turn has to fit; null for no more than text. */
  readonly outputSchema: OutputSchemaState | null;
}

/** A time in which nothing could run, as `session/repaired` tells it. */
export interface Interruption {
  readonly quietMs: number;
  /** Null where it was too short to make the turn old work. */
  readonly policy: OldWorkPolicy | null;
  /** Whether the model was told. */
  readonly told: boolean;
}

export interface OutputSchemaState {
  readonly schema: JsonSchema;
  /** How often the turn has told the model of it, the first time included. */
  readonly told: number;
}

/** A JSON Schema as a caller brought it. */
export type JsonSchema = NonNullable<InboxItem['outputSchema']>;

/** The name of the source of what the model is told of its turn's output schema. */
export const OUTPUT_SCHEMA_SOURCE = 'output-schema';

/** A turn that is due and not entered yet. */
export function newTurn(number: number, at: string): OpenTurn {
  return {
    number,
    started: false,
    startedAt: at,
    waitingSince: null,
    waitedMs: 0,
    requestIds: [],
    cancel: null,
    steps: 0,
    usage: ZERO_USAGE,
    output: [],
    step: null,
    settings: null,
    choice: {},
    unattended: false,
    interruption: null,
    fruitlessRuns: 0,
    outputSchema: null,
  };
}

export function newStep(number: number): OpenStep {
  return {
    number,
    lastAttempt: 0,
    failedAttempts: 0,
    failure: null,
    retryAt: null,
    userMessages: 0,
    message: null,
    calls: [],
    concludesTurn: false,
  };
}

/** The part of a state that is updated here. */
interface WithTurn {
  readonly openTurn: OpenTurn | null;
}

/** The change of a state whose open turn is updated; none where no turn is open. */
export function inTurn(state: WithTurn, update: (turn: OpenTurn) => OpenTurn): Partial<WithTurn> {
  return state.openTurn === null ? {} : { openTurn: update(state.openTurn) };
}

/** As {@link inTurn}, of the open step. */
export function inStep(state: WithTurn, update: (step: OpenStep) => OpenStep): Partial<WithTurn> {
  return inTurn(state, (turn) => (turn.step === null ? turn : { ...turn, step: update(turn.step) }));
}

/** As {@link inTurn}, of a call of the open step. */
export function inCall(
  state: WithTurn,
  callId: CallId,
  update: (call: CallState) => CallState,
): Partial<WithTurn> {
  return inStep(state, (step) => ({
    ...step,
    calls: step.calls.map((call) => (call.callId === callId ? update(call) : call)),
  }));
}
