/**
 * Writes valid logs in memory, by the decisions of `core/`: a session that is prompted, goes through steps, and ends its
 * turns. For tests of folds and of repair, and for stores that need a log to hold.
 */
import { eventKeys } from '../../src/contract/event-keys.js';
import {
  EVENT_SCHEMAS,
  type EventData,
  type NewEvent,
  type PromptMode,
  type SessionEvent,
} from '../../src/contract/events.js';
import type { BlobBlock, ToolCallBlock } from '../../src/contract/content.js';
import type {
  ApprovalId,
  CallId,
  IdSource,
  ItemId,
  MessageId,
  QuestionId,
  RequestId,
  SessionId,
  Sha256,
} from '../../src/contract/ids.js';
import type { TurnLimits } from '../../src/contract/session.js';
import type { TurnEndReason } from '../../src/contract/turn-end.js';
import type { Usage } from '../../src/contract/usage.js';
import { claimInput, inboxList } from '../../src/core/inbox.js';
import {
  evolve,
  foldState,
  INITIAL_STATE,
  type OpenTurn,
  type SessionState,
} from '../../src/core/session-state.js';
import { withdrawAsks } from '../../src/core/asks.js';
import { settleCalls } from '../../src/core/settle-step.js';
import {
  abandonedResult,
  callEvent,
  commitResults,
  enterTurn,
  nextMove,
  startStep,
  stepEnd,
  turnEnd,
  type CallResult,
  type StepPlace,
  type StepRequest,
} from '../../src/core/turn-progress.js';

export const SOME_SHA256 = 'ab'.repeat(32) as Sha256;

export const NO_LIMITS: TurnLimits = { steps: null, wallTimeMs: null, tokens: null, costUsd: null };

export const SOME_USAGE: Usage = {
  inputTokens: 10,
  outputTokens: 3,
  cacheReadTokens: 2,
  cacheWriteTokens: 1,
  reasoningTokens: 4,
  costUsd: 0.25,
};

/** Ids in sequence, the same in every run. */
export function sequentialIds(last = 0): IdSource {
  return { uuid: () => `01900000-0000-7000-8000-${String(++last).padStart(12, '0')}` };
}

export function someRequest(changes: Partial<StepRequest> = {}): StepRequest {
  return {
    system: 'You help.',
    sections: [{ name: 'base', sha256: SOME_SHA256 }],
    context: 'It is Monday.',
    header: {
      provider: 'demo',
      model: 'demo',
      wire: 'demo',
      parameters: {},
      adapterDefaults: {},
      tools: [{ name: 'read', sha256: SOME_SHA256 }],
    },
    contextWindow: 32_000,
    ...changes,
  };
}

export function someResult(text = 'done', changes: Partial<CallResult> = {}): CallResult {
  return { content: [{ type: 'text', text }], isError: false, contexts: [], durationMs: 5, ...changes };
}

/** The output of a turn whose parts all stand in the log itself. */
export function inlineOutput(turn: OpenTurn): string | BlobBlock | null {
  const texts = turn.output.filter((part) => typeof part === 'string');
  return texts.length === 0 ? null : texts.join('');
}

const READ_PLAN = { effect: 'read', mode: 'parallel' } as const;

/** A log as it grows. Every append is checked against the catalogue and counted as the store does it. */
export class LogBuilder {
  readonly events: SessionEvent[] = [];
  state: SessionState = INITIAL_STATE;
  readonly #keys = new Set<string>();

  constructor(
    readonly sessionId = 'session' as SessionId,
    readonly ids = sequentialIds(),
  ) {
    this.append([
      {
        type: 'session/created',
        key: eventKeys.sessionCreated(),
        data: { settings: { workspace: '/workspace', profile: 'default' } },
      },
    ]);
  }

  /** A log that goes on from these events. */
  static from(events: readonly SessionEvent[]): LogBuilder {
    const log = new LogBuilder(events[0]?.sessionId, sequentialIds(100_000));
    log.events.splice(0, Infinity, ...events);
    log.state = foldState(events);
    return log;
  }

  append(events: readonly NewEvent[]): void {
    for (const { key, ...body } of events) {
      if (key !== undefined && this.#keys.has(key)) continue;
      if (key !== undefined) this.#keys.add(key);
      const seq = this.state.headSeq + 1;
      const at = new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
      const data: unknown = EVENT_SCHEMAS[body.type].parse(body.data);
      const event = { sessionId: this.sessionId, seq, at, ...body, data } as SessionEvent;
      this.events.push(event);
      this.state = evolve(this.state, event);
    }
  }

  get turn(): OpenTurn {
    if (this.state.openTurn === null) throw new Error('No turn is open.');
    return this.state.openTurn;
  }

  get place(): StepPlace {
    const turn = this.turn;
    if (turn.step === null) throw new Error('No step is open.');
    return { turn, step: turn.step };
  }

  get #at() {
    const { turn, step } = this.place;
    return { turn: turn.number, step: step.number };
  }

  /** Admits a prompt and returns its item. */
  prompt(mode: PromptMode = 'queue', text = 'Hello.'): ItemId {
    const target = mode === 'queue' ? 'next-turn' : 'next-step';
    const itemId = this.ids.uuid() as ItemId;
    const requestId = `request-${itemId.slice(-6)}` as RequestId;
    this.append([
      {
        type: 'agent/inbox/spliced',
        key: eventKeys.prompt(requestId),
        data: {
          target,
          start: inboxList(this.state.inbox, target).length,
          inserted: [
            {
              itemId,
              requestId,
              content: [{ type: 'text', text }],
              source: { kind: 'user', requestId },
              wakes: mode !== 'inject',
            },
          ],
        },
      },
    ]);
    return itemId;
  }

  /** Enters the open turn, with its first step. */
  enter(request = someRequest()): this {
    const number = this.turn.number;
    const entry = enterTurn(number, this.state.inbox);
    this.append(entry.events);
    this.append(startStep(this.state, { turn: number, step: 1, entries: entry.entries }, request, this.ids));
    return this;
  }

  /** Ends the step and begins the next one. */
  nextStep(request = someRequest()): this {
    const { turn, step } = this.place;
    const next = step.number + 1;
    const claim = claimInput(this.state.inbox, turn.number, next);
    this.append([stepEnd(turn.number, step.number, 'step'), ...claim.events]);
    this.append(
      startStep(this.state, { turn: turn.number, step: next, entries: claim.entries }, request, this.ids),
    );
    return this;
  }

  failedAttempt(outcome: EventData<'assistant/attempt'>['outcome'] = 'failed'): this {
    const attempt = this.place.step.lastAttempt + 1;
    const at = this.#at;
    const failure = { code: 'SERVER', message: 'busy', status: 503 } as const;
    this.append([
      {
        type: 'assistant/attempt',
        key: eventKeys.assistantAttempt(at.turn, at.step, attempt),
        ...at,
        data: {
          attempt,
          outcome,
          shownCharacters: 0,
          ...(outcome === 'failed' ? { failure, usage: SOME_USAGE } : {}),
        },
      },
    ]);
    return this;
  }

  retry(): this {
    const at = this.#at;
    const attempt = this.place.step.lastAttempt;
    const retryAt = '2026-01-02T00:00:00.000Z';
    this.append([
      {
        type: 'llm/retry',
        key: eventKeys.llmRetry(at.turn, at.step, attempt),
        ...at,
        data: { attempt, delayMs: 500, retryAt, code: 'SERVER', from: 'backoff' },
      },
    ]);
    return this;
  }

  /** The model's answer, with calls of these tools. */
  message(tools: readonly string[] = [], changes: Partial<EventData<'assistant/message'>> = {}): this {
    const at = this.#at;
    const calls = tools.map((name): ToolCallBlock => ({
      type: 'tool-call',
      callId: `call-${this.ids.uuid().slice(-6)}` as CallId,
      name,
      arguments: '{"path": "a"}',
    }));
    const endedAt = '2026-01-01T00:00:00.000Z';
    this.append([
      {
        type: 'assistant/message',
        key: eventKeys.assistantMessage(at.turn, at.step),
        ...at,
        surface: 'append',
        data: {
          messageId: this.ids.uuid() as MessageId,
          attempt: this.place.step.lastAttempt + 1,
          content: [{ type: 'text', text: `Answer ${at.turn.toString()}.${at.step.toString()}.` }, ...calls],
          finish: calls.length > 0 ? 'tool-calls' : 'stop',
          usage: SOME_USAGE,
          provider: 'demo',
          model: 'demo',
          timing: { requestedAt: endedAt, endedAt },
          ...changes,
        },
      },
    ]);
    return this;
  }

  ask(index: number, changes: Partial<EventData<'approval/asked'>> = {}): ApprovalId {
    const at = this.#at;
    const call = this.#call(index);
    const approvalId = this.ids.uuid() as ApprovalId;
    this.append([
      {
        type: 'approval/asked',
        key: eventKeys.approvalAsked(at.turn, at.step, index),
        ...at,
        data: {
          approvalId,
          callId: call.callId,
          tool: call.name,
          arguments: call.arguments,
          argumentsSha256: SOME_SHA256,
          reason: 'It writes.',
          ...changes,
        },
      },
    ]);
    return approvalId;
  }

  decide(approvalId: ApprovalId, outcome: EventData<'approval/decided'>['outcome'] = 'allowed'): this {
    this.append([
      {
        type: 'approval/decided',
        key: eventKeys.approvalDecided(approvalId),
        data: { approvalId, outcome, by: 'ann' },
      },
    ]);
    return this;
  }

  question(index: number): QuestionId {
    const at = this.#at;
    const questionId = this.ids.uuid() as QuestionId;
    this.append([
      {
        type: 'question/asked',
        key: eventKeys.questionAsked(at.turn, at.step, index),
        ...at,
        data: { questionId, callId: this.#call(index).callId, questions: [{ id: 'q', question: 'Which?' }] },
      },
    ]);
    return questionId;
  }

  answer(questionId: QuestionId): this {
    this.append([
      {
        type: 'question/answered',
        key: eventKeys.questionAnswered(questionId),
        data: { questionId, answers: [{ id: 'q', selected: ['a'] }], by: 'ann', outcome: 'answered' },
      },
    ]);
    return this;
  }

  /** `tool/call` of the call, which is the next in the model's order. */
  start(index: number): this {
    this.append([callEvent(this.place, this.#call(index), READ_PLAN)]);
    return this;
  }

  /** The receipt of an attempt at the call. */
  receipt(index: number): this {
    const at = this.#at;
    const { callId, startedAttempts } = this.#call(index);
    const attempt = (startedAttempts.at(-1) ?? 0) + 1;
    const startedAt = '2026-01-01T00:00:00.000Z';
    this.append([
      {
        type: 'tool/started',
        key: eventKeys.toolStarted(at.turn, at.step, index, attempt),
        ...at,
        data: { callId, attempt, hostId: 'host', startedAt },
      },
    ]);
    return this;
  }

  /** Commits the results of the calls before `end`, or of all of them. */
  commit(resultOf: (index: number) => CallResult = () => someResult(), end = Infinity): this {
    const { turn, step } = this.place;
    const some = { turn, step: { ...step, calls: step.calls.slice(0, end) } };
    this.append(commitResults(some, (call) => resultOf(call.index), this.ids));
    return this;
  }

  cancel(by = 'ann'): this {
    const { number } = this.turn;
    this.append([
      {
        type: 'turn/cancel-requested',
        key: eventKeys.cancelRequested(number),
        turn: number,
        data: { by, cause: 'user' },
      },
    ]);
    return this;
  }

  /** Goes on as the state and the limits say: into the next step, or to the turn's end. */
  advance(limits = NO_LIMITS): this {
    const move = nextMove(this.state, this.place, limits);
    return move.kind === 'step' ? this.nextStep() : this.end(move.reason);
  }

  /** Settles what is open and ends the turn. */
  end(reason: TurnEndReason = { kind: 'completed' }): this {
    if (this.turn.step !== null) {
      const aborted = reason.kind === 'aborted';
      this.append(
        settleCalls(this.state, this.place, {
          resultOf: (call) => abandonedResult(call, aborted),
          planOf: () => READ_PLAN,
          ids: this.ids,
        }),
      );
      this.append(withdrawAsks(this.state));
      const { turn, step } = this.#at;
      this.append([stepEnd(turn, step, 'end')]);
    }
    this.append([turnEnd(this.turn, reason, inlineOutput(this.turn))]);
    return this;
  }

  #call(index: number) {
    const call = this.place.step.calls[index];
    if (call === undefined) throw new Error(`There is no call ${index.toString()}.`);
    return call;
  }
}
