/**
 * The state of a session as far as decisions need it, folded from its log.
 *
 * `evolve` is pure and total: the log alone says what is open, what is due and what was spent. Messages are folded
 * apart (`messages.ts`), so that this state stays small however old the session is.
 */
import type { BlobBlock } from '../contract/content.js';
import type { EventData, EventOf, MessageSource, SessionEvent } from '../contract/events.js';
import type { QuestionId, SessionId } from '../contract/ids.js';
import {
  inCall,
  inStep,
  inTurn,
  newStep,
  newTurn,
  OUTPUT_SCHEMA_SOURCE,
  type CallState,
  type OpenTurn,
} from './open-turn.js';
import type { PermissionGrant } from './permission.js';

export { OUTPUT_SCHEMA_SOURCE } from './open-turn.js';
export type { CallAsk, CallState, JsonSchema, OpenStep, OpenTurn, OutputSchemaState } from './open-turn.js';
import type { SessionStatus } from '../contract/http.js';
import type { SessionSettings } from '../contract/session.js';
import { addUsage, totalTokens, ZERO_USAGE, type Usage } from '../contract/usage.js';
import { askChange, waited, type PendingApproval } from './ask-state.js';
import { EMPTY_INBOX, evolveInbox, inboxWakes, type Inbox } from './inbox.js';

export interface SessionState {
  /** -1 before the first event. */
  readonly headSeq: number;
  readonly sessionId: SessionId | null;
  readonly settings: SessionSettings | null;
  readonly title: string;
  /** Who gave the title; null where there is none. */
  readonly titleSource: EventData<'session/title'>['source'] | null;
  readonly inbox: Inbox;
  /** The last turn that has ended, 0 before the first. */
  readonly lastTurn: number;
  /** The highest number that a turn had in a part of the log that was cut off, 0 where none was. */
  readonly usedTurns: number;
  readonly openTurn: OpenTurn | null;
  readonly usage: Usage;
  /** What the last answer in the conversation used; null before the first one, and where no provider said so. */
  readonly lastCall: Usage | null;
  /** The time zone that a prompt named last. */
  readonly timeZone: string | null;
  readonly system: { readonly seq: number; readonly content: string } | null;
  /** The last runtime context that the model was shown. */
  readonly contextSnapshot: string | null;
  readonly header: EventData<'request/header'> | null;
  readonly contextWindow: number | null;
  readonly approvals: readonly PendingApproval[];
  readonly questions: readonly QuestionId[];
  /** What was allowed for the whole session. */
  readonly grants: readonly PermissionGrant[];
  /** Versions of files by path, as results of this session observed them last. */
  readonly observedFiles: Readonly<Record<string, string>>;
}

export const INITIAL_STATE: SessionState = Object.freeze({
  headSeq: -1,
  sessionId: null,
  settings: null,
  title: '',
  titleSource: null,
  inbox: EMPTY_INBOX,
  lastTurn: 0,
  usedTurns: 0,
  openTurn: null,
  usage: ZERO_USAGE,
  lastCall: null,
  timeZone: null,
  system: null,
  contextSnapshot: null,
  header: null,
  contextWindow: null,
  approvals: [],
  questions: [],
  grants: [],
  observedFiles: {},
});

/** The state after one more event. */
export function evolve(state: SessionState, event: SessionEvent): SessionState {
  const next = { ...state, ...change(state, event), headSeq: event.seq };
  return (next.openTurn?.fruitlessRuns ?? 0) > 0 && isProgress(event)
    ? { ...next, ...inTurn(next, (turn) => ({ ...turn, fruitlessRuns: 0 })) }
    : next;
}

/** Whether more came of a run than that it took the place of another one. */
function isProgress(event: SessionEvent): boolean {
  if (event.type === 'session/repaired') return false;
  return !(event.type === 'assistant/attempt' && event.data.outcome === 'lost');
}

/** The state of a whole log, or of `from` and what came after it. */
export function foldState(events: Iterable<SessionEvent>, from: SessionState = INITIAL_STATE): SessionState {
  let state = from;
  for (const event of events) state = evolve(state, event);
  return state;
}

function change(state: SessionState, event: SessionEvent): Partial<SessionState> {
  switch (event.type) {
    case 'session/created':
      return { sessionId: event.sessionId, settings: event.data.settings };
    case 'session/settings':
      return state.settings === null
        ? {}
        : { settings: { ...state.settings, ...definedOnly(event.data.changes) } };
    case 'approval/policy':
      return state.settings === null
        ? {}
        : { settings: { ...state.settings, permission: event.data.permission } };
    case 'session/title':
      return { title: event.data.title, titleSource: event.data.source };
    case 'agent/inbox/spliced':
      return spliced(state, event);
    case 'turn/start': {
      const turn = state.openTurn ?? newTurn(event.turn ?? nextTurn(state), event.at);
      return {
        openTurn: {
          ...turn,
          started: true,
          startedAt: event.at,
          requestIds: event.data.requestIds,
          settings: state.settings,
        },
      };
    }
    case 'turn/cancel-requested':
      return inTurn(state, (turn) => ({ ...turn, cancel: turn.cancel ?? event.data }));
    case 'turn/end': {
      const lastTurn = event.turn ?? state.openTurn?.number ?? nextTurn(state);
      // The queue goes on after every kind of end.
      return {
        lastTurn,
        openTurn: inboxWakes(state.inbox) ? newTurn(nextTurn({ ...state, lastTurn }), event.at) : null,
      };
    }
    case 'step/start':
      return inTurn(state, (turn) => {
        const number = event.step ?? turn.steps + 1;
        return { ...turn, steps: number, step: newStep(number) };
      });
    case 'step/end':
      return inTurn(state, (turn) => ({ ...turn, step: null }));
    case 'system/message':
      return { system: { seq: event.seq, content: event.data.content } };
    case 'user/message': {
      const { source, content } = event.data;
      return {
        ...inTurn(state, (turn) => messageAdded(turn, source)),
        ...(source.kind === 'context' && source.form === 'snapshot'
          ? { contextSnapshot: textOf(content) }
          : {}),
        ...(source.kind === 'user' && source.timeZone !== undefined ? { timeZone: source.timeZone } : {}),
        // A summary stands for what came before it: nobody knows yet what the shorter conversation uses.
        ...(typeof event.surface === 'object' ? { lastCall: null } : {}),
      };
    }
    case 'request/header':
      return { header: event.data };
    case 'request/context':
      return { contextWindow: event.data.contextWindow };
    case 'assistant/message': {
      const { usage } = event.data;
      return {
        ...spend(assistantMessage(state, event), usage),
        ...(totalTokens(usage) > 0 ? { lastCall: usage } : {}),
      };
    }
    case 'assistant/attempt': {
      const failed = event.data.outcome === 'failed';
      const after = inStep(state, (step) => ({
        ...step,
        lastAttempt: Math.max(step.lastAttempt, event.data.attempt),
        failedAttempts: step.failedAttempts + (failed ? 1 : 0),
        failure: event.data.failure ?? step.failure,
        retryAt: null,
      }));
      return event.data.usage === undefined ? after : spend({ ...state, ...after }, event.data.usage);
    }
    case 'llm/retry':
      return inStep(state, (step) => ({ ...step, retryAt: event.data.retryAt }));
    case 'tool/call':
      return inCall(state, event.data.callId, (call) => ({ ...call, callSeq: event.seq }));
    case 'tool/started':
      return inCall(state, event.data.callId, (call) => ({
        ...call,
        startedAttempts: [...call.startedAttempts, event.data.attempt],
      }));
    case 'tool/result':
      return toolResult(state, event);
    case 'approval/asked':
    case 'approval/decided':
    case 'question/asked':
    case 'question/answered': {
      const after = askChange(state, event);
      const next = { ...state, ...after, ...waited({ ...state, ...after }, event.at) };
      // A person who lets a call run has seen where the turn stands.
      const isSeen = event.type === 'approval/decided' && event.data.outcome === 'allowed';
      return isSeen ? { ...next, ...inTurn(next, (turn) => ({ ...turn, interruption: null })) } : next;
    }
    case 'session/repaired':
      return {
        usedTurns: Math.max(state.usedTurns, event.data.usedTurns ?? 0),
        ...inTurn(state, (turn) => repaired(turn, event.data)),
      };
    case 'session/forked':
    case 'todo/write':
      return {};
  }
}

/** Without the keys whose value is undefined: a change that leaves a setting out does not clear it. */
function definedOnly<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as never;
}

function repaired(turn: OpenTurn, { cause, quietMs = 0, policy }: EventData<'session/repaired'>): OpenTurn {
  switch (cause) {
    case 'workflow-lost':
      return { ...turn, fruitlessRuns: turn.fruitlessRuns + 1 };
    case 'interrupted':
      return {
        ...turn,
        // A standstill is no time that the turn has worked, as little as the wait for a person.
        waitedMs: turn.waitedMs + (turn.started ? quietMs : 0),
        interruption: { quietMs, policy: policy ?? null, told: false },
      };
    case 'log-damaged':
    case undefined:
      return turn;
  }
}

function messageAdded(turn: OpenTurn, source: MessageSource): OpenTurn {
  const { step, outputSchema, interruption } = turn;
  const isNotice = source.kind === 'context' && source.form === 'notice';
  const isTold = source.kind === 'hook' && source.name === OUTPUT_SCHEMA_SOURCE;
  return {
    ...turn,
    step: step === null ? null : { ...step, userMessages: step.userMessages + 1 },
    outputSchema:
      isTold && outputSchema !== null ? { ...outputSchema, told: outputSchema.told + 1 } : outputSchema,
    interruption: isNotice && interruption !== null ? { ...interruption, told: true } : interruption,
  };
}

function spend(state: SessionState, usage: Usage): Partial<SessionState> {
  return {
    ...state,
    usage: addUsage(state.usage, usage),
    ...inTurn(state, (turn) => ({ ...turn, usage: addUsage(turn.usage, usage) })),
  };
}

function spliced(state: SessionState, event: EventOf<'agent/inbox/spliced'>): Partial<SessionState> {
  const inbox = evolveInbox(state.inbox, event);
  if (event.data.outcome === 'claimed') {
    const claimed = new Set(event.data.removed);
    const taken = [...state.inbox.nextStep, ...state.inbox.nextTurn].filter(({ itemId }) =>
      claimed.has(itemId),
    );
    const chosen = taken.findLast(({ provider, model }) => provider !== undefined || model !== undefined);
    const unattended = taken.some((entry) => entry.unattended === true);
    const schema = taken.findLast(({ outputSchema }) => outputSchema !== undefined)?.outputSchema;
    if (chosen === undefined && !unattended && schema === undefined) return { inbox };
    const choice = chosen === undefined ? {} : { choice: { provider: chosen.provider, model: chosen.model } };
    const output = schema === undefined ? {} : { outputSchema: { schema, told: 0 } };
    return {
      inbox,
      ...inTurn(state, (turn) => ({
        ...turn,
        ...choice,
        ...output,
        unattended: turn.unattended || unattended,
      })),
    };
  }
  // Admission opens a turn by the same event that stores the prompt, so the log alone says which turn is due.
  const wakes = event.data.inserted?.some((item) => item.wakes) === true;
  return state.openTurn === null && wakes
    ? { inbox, openTurn: newTurn(nextTurn(state), event.at) }
    : { inbox };
}

/** The number of the turn that is opened next. */
function nextTurn({ lastTurn, usedTurns }: Pick<SessionState, 'lastTurn' | 'usedTurns'>): number {
  return Math.max(lastTurn, usedTurns) + 1;
}

function assistantMessage(state: SessionState, event: EventOf<'assistant/message'>): SessionState {
  const calls: CallState[] = [];
  for (const block of event.data.content) {
    if (block.type !== 'tool-call') continue;
    calls.push({
      index: calls.length,
      callId: block.callId,
      name: block.name,
      arguments: block.arguments,
      ask: null,
      callSeq: null,
      startedAttempts: [],
      resultSeq: null,
    });
  }
  const message = { seq: event.seq, finish: event.data.finish, attempt: event.data.attempt };
  const output = outputOf(event.data.content);
  const inStepNow = inStep(state, (step) => ({ ...step, message, calls, retryAt: null }));
  const after = { ...state, ...inStepNow };
  return { ...after, ...inTurn(after, (turn) => ({ ...turn, output })) };
}

function toolResult(state: SessionState, event: EventOf<'tool/result'>): Partial<SessionState> {
  const { callId, meta } = event.data;
  const after = { ...state, ...inCall(state, callId, (call) => ({ ...call, resultSeq: event.seq })) };
  const observed = meta?.observed ?? [];
  return {
    ...(meta?.concludesTurn === true
      ? inStep(after, (step) => ({ ...step, concludesTurn: true }))
      : { openTurn: after.openTurn }),
    ...(observed.length === 0
      ? {}
      : {
          observedFiles: {
            ...state.observedFiles,
            ...Object.fromEntries(observed.map(({ path, version }) => [path, version])),
          },
        }),
  };
}

function outputOf(content: EventData<'assistant/message'>['content']): (string | BlobBlock)[] {
  return content.flatMap<string | BlobBlock>((block) =>
    block.type === 'text' ? [block.text] : block.type === 'blob' ? [block] : [],
  );
}

function textOf(content: EventData<'user/message'>['content']): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** What the session is doing, in the words of the API. */
export function sessionStatus(state: SessionState): SessionStatus {
  const turn = state.openTurn;
  if (turn === null) return 'idle';
  if (turn.cancel !== null) return 'cancelling';
  if (state.approvals.length > 0 || state.questions.length > 0) return 'waiting-approval';
  return turn.step?.retryAt == null ? 'running' : 'retrying';
}
