/**
 * What comes after what in a turn, as facts to append: entering it, taking a step, committing results, ending.
 *
 * Pure decisions over the state. When they are taken, and in which transaction, is the business of `advance`.
 */
import type { Price } from '../contract/configuration.js';
import type { BlobBlock, InputBlock } from '../contract/content.js';
import { eventKeys } from '../contract/event-keys.js';
import type { EventData, MessageSource, NewEvent, Todo } from '../contract/events.js';
import type { ToolResultCode } from '../contract/failures.js';
import type { IdSource, MessageId } from '../contract/ids.js';
import type { JsonValue } from '../contract/json.js';
import type { SessionLimits, TurnLimits } from '../contract/session.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import { isOpen } from './asks.js';
import { claimInput, type Inbox, type InboxEntry } from './inbox.js';
import type { CallState, OpenStep, OpenTurn, SessionState } from './session-state.js';
import { limitReached, type LimitReached } from './spending.js';

/** The result of a call before it has its place in the log. */
export interface CallResult {
  readonly content: readonly InputBlock[];
  readonly isError: boolean;
  readonly error?: { readonly name: string; readonly code: ToolResultCode };
  readonly meta?: Readonly<Record<string, unknown>>;
  /** The session's new list of things to do. */
  readonly todos?: readonly Todo[];
  readonly contexts: readonly (readonly InputBlock[])[];
  readonly durationMs: number;
}

/** The open turn and step of a state that has them; a decision that needs them is never taken without. */
export interface StepPlace {
  readonly turn: OpenTurn;
  readonly step: OpenStep;
}

/** `turn/start`, and the claim of the turn's first input. */
export function enterTurn(
  turn: number,
  inbox: Inbox,
): { events: NewEvent[]; entries: readonly InboxEntry[] } {
  const claim = claimInput(inbox, turn, 1);
  const requestIds = claim.entries.map((entry) => entry.requestId);
  return {
    entries: claim.entries,
    events: [
      { type: 'turn/start', key: eventKeys.turnStart(turn), turn, data: { requestIds } },
      ...claim.events,
    ],
  };
}

/**
 * The wish to end the open turn. One that is not entered yet is entered by it, so that it takes what was meant for it and
 * nothing that comes after the wish.
 */
export function cancelTurn(
  turn: OpenTurn,
  inbox: Inbox,
  wish: EventData<'turn/cancel-requested'>,
): NewEvent[] {
  const { number, started } = turn;
  return [
    ...(started ? [] : enterTurn(number, inbox).events),
    { type: 'turn/cancel-requested', key: eventKeys.cancelRequested(number), turn: number, data: wish },
  ];
}

/** What a step says to the model beside the input that it claims. */
export interface StepRequest {
  readonly system: string;
  readonly sections: EventData<'system/message'>['sections'];
  /** The runtime context; appended only where it differs from the last one. */
  readonly context: string;
  readonly header: Omit<EventData<'request/header'>, 'reason'>;
  readonly contextWindow: number;
}

/** A user message that is no input of the inbox. */
export interface AddedMessage {
  readonly content: readonly InputBlock[];
  readonly source: MessageSource;
}

/** `step/start` and all that the step's request adds to the log, in the order of the catalogue. */
export function startStep(
  state: SessionState,
  place: {
    readonly turn: number;
    readonly step: number;
    readonly entries: readonly InboxEntry[];
    /** Further messages, after the entries. */
    readonly added?: readonly AddedMessage[];
  },
  request: StepRequest,
  ids: IdSource,
): NewEvent[] {
  const { turn, step } = place;
  const at = { turn, step };
  const events: NewEvent[] = [{ type: 'step/start', key: eventKeys.stepStart(turn, step), ...at, data: {} }];
  if (state.system?.content !== request.system) {
    events.push({
      type: 'system/message',
      key: eventKeys.systemMessage(turn, step),
      ...at,
      surface: state.system === null ? 'append' : { replace: [state.system.seq, state.system.seq] },
      data: { content: request.system, sections: request.sections },
    });
  }
  const messages: AddedMessage[] = [...place.entries, ...(place.added ?? [])].map(({ content, source }) => ({
    content,
    source,
  }));
  if (state.contextSnapshot !== request.context) {
    messages.push({
      content: [{ type: 'text', text: request.context }],
      source: { kind: 'context', form: 'snapshot' },
    });
  }
  messages.forEach(({ content, source }, n) => {
    events.push({
      type: 'user/message',
      key: eventKeys.userMessage(turn, step, n),
      ...at,
      surface: 'append',
      data: { messageId: ids.uuid() as MessageId, content: [...content], source },
    });
  });
  if (!sameHeader(state.header, request.header)) {
    events.push({
      type: 'request/header',
      key: eventKeys.requestHeader(turn, step),
      ...at,
      data: { ...request.header, reason: state.header === null ? 'initial' : 'change' },
    });
  }
  if (state.contextWindow !== request.contextWindow) {
    events.push({
      type: 'request/context',
      key: eventKeys.requestContext(turn, step),
      ...at,
      data: { contextWindow: request.contextWindow },
    });
  }
  return events;
}

function sameHeader(
  standing: EventData<'request/header'> | null,
  next: Omit<EventData<'request/header'>, 'reason'>,
): boolean {
  if (standing === null) return false;
  const canonical = (header: Omit<EventData<'request/header'>, 'reason'>) =>
    JSON.stringify([
      header.provider,
      header.model,
      header.wire,
      sorted(header.parameters),
      sorted(header.adapterDefaults),
      header.tools.map(({ name, sha256 }) => [name, sha256]),
    ]);
  return canonical(standing) === canonical(next);
}

/** In one order, and without what is undefined, which the log does not keep. */
function sorted(values: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** `tool/call` of a call that starts, or that is settled without having started. */
export function callEvent(
  { turn, step }: StepPlace,
  call: CallState,
  plan: Pick<EventData<'tool/call'>, 'effect' | 'mode'>,
): NewEvent {
  return {
    type: 'tool/call',
    key: eventKeys.toolCall(turn.number, step.number, call.index),
    turn: turn.number,
    step: step.number,
    data: {
      callId: call.callId,
      index: call.index,
      name: call.name,
      arguments: call.arguments,
      effect: plan.effect,
      mode: plan.mode,
    },
  };
}

/**
 * The results of a step in the model's order, and after them what the results add as context.
 *
 * @param resultOf the result of each call; every call of the step has one.
 */
export function commitResults(
  place: StepPlace,
  resultOf: (call: CallState) => CallResult,
  ids: IdSource,
): NewEvent[] {
  const { turn, step } = place;
  const at = { turn: turn.number, step: step.number };
  const open = step.calls.filter((call) => call.resultSeq === null);
  const results = open.map((call) => ({ call, result: resultOf(call) }));
  let n = step.userMessages;
  return [
    ...results.flatMap(({ call, result }) => resultEvents(place, call, result)),
    ...results.flatMap(({ call, result }) =>
      result.contexts.map((content): NewEvent => ({
        type: 'user/message',
        key: eventKeys.userMessage(at.turn, at.step, n++),
        ...at,
        surface: 'append',
        data: {
          messageId: ids.uuid() as MessageId,
          content: [...content],
          source: { kind: 'tool-context', callId: call.callId },
        },
      })),
    ),
  ];
}

/** `tool/result`, and the list of things to do where the call wrote one. */
function resultEvents({ turn, step }: StepPlace, call: CallState, result: CallResult): NewEvent[] {
  const at = { turn: turn.number, step: step.number };
  const { content, isError, error, meta, todos, durationMs } = result;
  const settled: NewEvent = {
    type: 'tool/result',
    key: eventKeys.toolResult(at.turn, at.step, call.index),
    ...at,
    surface: 'append',
    ...(call.callSeq === null ? {} : { sources: [call.callSeq] }),
    data: {
      callId: call.callId,
      content: [...content],
      isError,
      ...(error === undefined ? {} : { error }),
      ...(meta === undefined ? {} : { meta }),
      durationMs,
    },
  };
  if (todos === undefined) return [settled];
  const key = eventKeys.todoWrite(at.turn, at.step, call.index);
  return [settled, { type: 'todo/write', key, ...at, data: { todos: [...todos] } }];
}

/** How a call is reported that did not come to its own result. */
export function unfinishedResult(code: ToolResultCode, text: string): CallResult {
  return {
    content: [{ type: 'text', text }],
    isError: true,
    error: { name: 'ToolCallUnfinished', code },
    contexts: [],
    durationMs: 0,
  };
}

/**
 * The result of a call that was running or waiting when its turn ended.
 *
 * @param started whether it ran. Default: what its announcement says, which may be there for a later call's sake.
 */
export function abandonedResult(
  call: CallState,
  aborted: boolean,
  started = call.callSeq !== null && (call.ask === null || !isOpen(call.ask)),
): CallResult {
  if (aborted) {
    return started
      ? unfinishedResult(
          'ABORTED',
          'The call was aborted while it ran. It may have had a part of its effect.',
        )
      : unfinishedResult('ABORTED_BEFORE_DISPATCH', 'The call was aborted before it started.');
  }
  return call.startedAttempts.length > 0
    ? unknownOutcome()
    : unfinishedResult(
        'TOOL_NOT_STARTED',
        'The call has no result: it did not run, or only read. It changed nothing.',
      );
}

/** The result of a call with effects whose attempt was lost after it had started. */
export function unknownOutcome(): CallResult {
  return unfinishedResult(
    'TOOL_OUTCOME_UNKNOWN',
    'TOOL_OUTCOME_UNKNOWN: the call had started when its worker was lost, so it is not known whether it took effect. ' +
      'It was not run again. Check what it did before you repeat it.',
  );
}

const NO_SESSION_LIMITS: SessionLimits = { tokens: null, costUsd: null };

/** What follows a step whose calls have all settled. */
export type NextMove = { readonly kind: 'step' } | { readonly kind: 'end'; readonly reason: TurnEndReason };

/** What the next call is held against: the turn's limits, its session's, and the price of its model. */
export interface CallLimits extends TurnLimits {
  /** Default: none. */
  readonly session?: SessionLimits;
  readonly price?: Price | undefined;
}

/**
 * Goes on while the model asks for calls or input is pending, within the limits.
 *
 * @param continued asked where the turn would be completed: whether something else lets it go on.
 */
export function nextMove(
  state: SessionState,
  { turn, step }: StepPlace,
  limits: CallLimits,
  continued: () => boolean = () => false,
): NextMove {
  if (step.message?.finish === 'max-tokens') return { kind: 'end', reason: { kind: 'max-tokens' } };
  const pending = state.inbox.nextStep.length > 0;
  const asked = step.calls.length > 0 && !step.concludesTurn;
  if (!asked && !pending && !continued()) return { kind: 'end', reason: { kind: 'completed' } };
  const reached = stepsReached(turn, limits) ?? spendingReached(state, limits);
  return reached === null ? { kind: 'step' } : { kind: 'end', reason: reached };
}

function stepsReached({ steps }: OpenTurn, limits: TurnLimits): LimitReached | null {
  return limits.steps !== null && steps >= limits.steps
    ? { kind: 'limit', which: 'steps', value: limits.steps }
    : null;
}

/** The limit of the turn or its session that leaves no room for another call; see `spending.ts`. */
export function spendingReached(state: SessionState, limits: CallLimits): LimitReached | null {
  return limitReached(state, {
    turn: limits,
    session: limits.session ?? NO_SESSION_LIMITS,
    price: limits.price,
  });
}

export function stepEnd(turn: number, step: number, next: 'step' | 'end'): NewEvent {
  return { type: 'step/end', key: eventKeys.stepEnd(turn, step), turn, step, data: { next } };
}

/**
 * `output` is the text of the last assistant message, whole or moved to the blob store; `structured` is its value where
 * it fits the turn's output schema.
 */
export function turnEnd(
  turn: OpenTurn,
  reason: TurnEndReason,
  output: string | BlobBlock | null,
  structured?: JsonValue,
): NewEvent {
  return {
    type: 'turn/end',
    key: eventKeys.turnEnd(turn.number),
    turn: turn.number,
    data: {
      reason,
      ...(output === null ? {} : { output }),
      ...(structured === undefined ? {} : { structured }),
      usage: turn.usage,
      steps: turn.steps,
    },
  };
}

const ABORT_CAUSES = ['user', 'parent', 'shutdown', 'operator'] as const;

/** The reason of a turn that was cancelled; without a cancel in the log, someone told the engine alone. */
export function abortReason(cancel: OpenTurn['cancel']): TurnEndReason {
  if (cancel === null) return { kind: 'aborted', cause: 'operator', by: 'engine' };
  const cause = ABORT_CAUSES.find((known) => known === cancel.cause) ?? 'user';
  return { kind: 'aborted', cause, by: cancel.by };
}
