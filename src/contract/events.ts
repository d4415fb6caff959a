/**
 * The event catalogue of the session log: every type with the zod schema of its data, and the envelope around it.
 *
 * Owns which facts the log can hold. What they amount to is folded in `core/`; how they are stored is in `store/`.
 */
import { z } from 'zod';
import { finishReasonSchema } from './chunks.js';
import { assistantBlockSchema, blobBlockSchema, inputBlockSchema } from './content.js';
import { modelFailureCodeSchema, toolResultCodeSchema } from './failures.js';
import {
  approvalIdSchema,
  callIdSchema,
  itemIdSchema,
  messageIdSchema,
  questionIdSchema,
  requestIdSchema,
  sha256Schema,
  type SessionId,
} from './ids.js';
import { jsonValueSchema } from './json.js';
import { permissionModeSchema, sessionSettingsChangesSchema, sessionSettingsSchema } from './session.js';
import { turnEndReasonSchema } from './turn-end.js';
import { usageSchema } from './usage.js';

const count = z.number().int().nonnegative();
const ordinal = z.number().int().positive();
const timestamp = z.iso.datetime();

/** Where a user message came from. */
export const messageSourceSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('user'),
    requestId: requestIdSchema,
    timeZone: z.string().optional(),
    by: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal('context'), form: z.enum(['snapshot', 'notice']) }),
  z.strictObject({ kind: z.literal('tool-context'), callId: callIdSchema }),
  z.strictObject({ kind: z.literal('hook'), name: z.string() }),
  z.strictObject({ kind: z.literal('subagent') }),
  z.strictObject({ kind: z.literal('compaction') }),
]);
export type MessageSource = z.infer<typeof messageSourceSchema>;

/** How a prompt enters: `queue` opens a turn of its own, `steer` joins the running one, `inject` joins and wakes nobody. */
export const promptModeSchema = z.enum(['queue', 'steer', 'inject']);
export type PromptMode = z.infer<typeof promptModeSchema>;

/** The two lists of the inbox. */
export const inboxTargetSchema = z.enum(['next-turn', 'next-step']);
export type InboxTarget = z.infer<typeof inboxTargetSchema>;

/** An item of the inbox. `wakes` tells whether an idle session opens a turn for it (false for `inject`). */
export const inboxItemSchema = z.strictObject({
  itemId: itemIdSchema,
  requestId: requestIdSchema,
  content: z.array(inputBlockSchema),
  source: messageSourceSchema,
  wakes: z.boolean(),
  provider: z.string().optional(),
  model: z.string().optional(),
  /** Set where nobody can answer what the turn asks: its asks are closed at once instead of waiting. */
  unattended: z.boolean().optional(),
  /** The JSON Schema that the last message of the item's turn has to fit. */
  outputSchema: z.record(z.string(), jsonValueSchema).optional(),
});
export type InboxItem = z.infer<typeof inboxItemSchema>;

/** A tool as a request offers it: `sha256` names the blob with its description and schema. */
export const toolReferenceSchema = z.strictObject({ name: z.string(), sha256: sha256Schema });

/** Sampling parameters of a request; absent is the provider's default. */
export const modelParametersSchema = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: ordinal.optional(),
  stop: z.array(z.string().min(1)).max(16).optional(),
  reasoningEffort: z.string().min(1).optional(),
});
export type ModelParameters = z.infer<typeof modelParametersSchema>;

export const wireSchema = z.enum(['chat-completions', 'messages', 'demo']);
export type Wire = z.infer<typeof wireSchema>;

export const questionSchema = z.strictObject({
  id: z.string(),
  question: z.string(),
  options: z.array(z.string()).optional(),
  multiSelect: z.boolean().optional(),
});
export type Question = z.infer<typeof questionSchema>;

/** What a person answered to one question: options that they chose, and words of their own. */
export const answerSchema = z.strictObject({
  id: z.string(),
  selected: z.array(z.string()),
  text: z.string().optional(),
});
export type Answer = z.infer<typeof answerSchema>;

/** What a call would do, for the person who decides. */
export const approvalPreviewSchema = z.strictObject({
  kind: z.enum(['diff', 'command', 'text']),
  text: z.string(),
});
export type ApprovalPreview = z.infer<typeof approvalPreviewSchema>;

export const approvalOutcomeSchema = z.enum(['allowed', 'denied', 'expired', 'withdrawn', 'unavailable']);
export const approvalScopeSchema = z.enum(['once', 'session']);

/** Globs over a call's arguments by their names, as in a rule of a profile. */
export const argumentPatternSchema = z.record(z.string(), z.string());

export const todoSchema = z.strictObject({
  content: z.string(),
  status: z.enum(['pending', 'in_progress', 'completed']),
});
export type Todo = z.infer<typeof todoSchema>;

const rawArguments = z.union([z.string(), blobBlockSchema]);
const callMode = z.enum(['parallel', 'exclusive']);
export const toolEffectSchema = z.enum(['read', 'idempotent', 'effect']);
export type ToolEffect = z.infer<typeof toolEffectSchema>;

/** A version of a file that a tool has seen or made, so that `write` and `edit` know a file that changed since. */
export const observedFileSchema = z.strictObject({ path: z.string(), version: z.string() });
export type ObservedFile = z.infer<typeof observedFileSchema>;

/** What a result tells Turnkeeper beside what it tells the model. Further keys belong to the tool. */
export const toolResultMetaSchema = z.looseObject({
  observed: z.array(observedFileSchema).optional(),
  concludesTurn: z.boolean().optional(),
});

/**
 * What was made good: a damaged log was cut, a turn whose workflow was lost goes on in a fresh run, or nothing could run
 * for a while.
 */
export const repairCauseSchema = z.enum(['log-damaged', 'workflow-lost', 'interrupted']);

/** `ask`: before anything is changed a person is asked. `resume`: the turn goes on as if nothing had been. */
export const oldWorkPolicySchema = z.enum(['ask', 'resume']);
export type OldWorkPolicy = z.infer<typeof oldWorkPolicySchema>;

/** The data schema of each event type. */
export const EVENT_SCHEMAS = {
  'session/created': z.strictObject({ settings: sessionSettingsSchema }),
  'session/settings': z.strictObject({ changes: sessionSettingsChangesSchema, by: z.string() }),
  'session/title': z.strictObject({ title: z.string(), source: z.enum(['fallback', 'model', 'user']) }),
  'session/forked': z.strictObject({ from: z.string(), seq: count }),
  'session/repaired': z.strictObject({
    what: z.string(),
    /** Events that were cut off. */
    lost: count.optional(),
    /** The highest number that a turn had before events were cut off: no later turn has one that was used. */
    usedTurns: count.optional(),
    cause: repairCauseSchema.optional(),
    /** How long nothing could run, milliseconds; with the cause `interrupted`. */
    quietMs: count.optional(),
    /** What becomes of a turn that was interrupted for so long that it counts as old work. */
    policy: oldWorkPolicySchema.optional(),
  }),

  'turn/start': z.strictObject({ requestIds: z.array(requestIdSchema) }),
  'turn/end': z.strictObject({
    reason: turnEndReasonSchema,
    output: z.union([z.string(), blobBlockSchema]).optional(),
    /** The output as a value, where the turn had an output schema; as a blob of JSON text where it is large. */
    structured: jsonValueSchema.optional(),
    usage: usageSchema,
    steps: count,
  }),
  'step/start': z.strictObject({}),
  'step/end': z.strictObject({ next: z.enum(['step', 'end']) }),
  'turn/cancel-requested': z.strictObject({ by: z.string(), cause: z.string().optional() }),

  'agent/inbox/spliced': z.strictObject({
    target: inboxTargetSchema,
    start: count,
    removed: z.array(itemIdSchema).optional(),
    inserted: z.array(inboxItemSchema).optional(),
    outcome: z.enum(['claimed', 'canceled', 'edited', 'moved']).optional(),
  }),
  'user/message': z.strictObject({
    messageId: messageIdSchema,
    content: z.array(inputBlockSchema),
    source: messageSourceSchema,
  }),
  'system/message': z.strictObject({
    content: z.string(),
    sections: z.array(z.strictObject({ name: z.string(), sha256: sha256Schema })),
  }),
  'request/header': z.strictObject({
    provider: z.string(),
    model: z.string(),
    wire: wireSchema,
    parameters: modelParametersSchema,
    adapterDefaults: z.record(z.string(), z.json()),
    tools: z.array(toolReferenceSchema),
    reason: z.enum(['initial', 'resume', 'change']),
  }),
  'request/context': z.strictObject({ contextWindow: ordinal }),

  'assistant/message': z.strictObject({
    messageId: messageIdSchema,
    attempt: ordinal,
    content: z.array(assistantBlockSchema),
    finish: finishReasonSchema,
    usage: usageSchema,
    interrupted: z.boolean().optional(),
    provider: z.string(),
    model: z.string(),
    timing: z.strictObject({
      requestedAt: timestamp,
      firstByteAt: timestamp.optional(),
      endedAt: timestamp,
    }),
  }),
  'assistant/attempt': z.strictObject({
    attempt: ordinal,
    outcome: z.enum(['failed', 'aborted', 'lost']),
    failure: z
      .strictObject({
        code: modelFailureCodeSchema,
        message: z.string(),
        status: z.number().int().optional(),
        providerRequestId: z.string().optional(),
      })
      .optional(),
    shownCharacters: count,
    usage: usageSchema.optional(),
  }),
  'llm/retry': z.strictObject({
    attempt: ordinal,
    delayMs: count,
    retryAt: timestamp,
    code: modelFailureCodeSchema,
    from: z.enum(['retry-after', 'backoff']),
    /** The hook that wanted it, or its delay. */
    hook: z.string().optional(),
  }),

  'tool/call': z.strictObject({
    callId: callIdSchema,
    index: count,
    name: z.string(),
    arguments: rawArguments,
    effect: toolEffectSchema,
    mode: callMode,
  }),
  'tool/started': z.strictObject({
    callId: callIdSchema,
    attempt: ordinal,
    hostId: z.string(),
    pid: z.number().int().optional(),
    startedAt: timestamp,
  }),
  'tool/result': z.strictObject({
    callId: callIdSchema,
    content: z.array(inputBlockSchema),
    isError: z.boolean(),
    error: z.strictObject({ name: z.string(), code: toolResultCodeSchema }).optional(),
    meta: toolResultMetaSchema.optional(),
    durationMs: count,
  }),
  'approval/asked': z.strictObject({
    approvalId: approvalIdSchema,
    callId: callIdSchema,
    tool: z.string(),
    arguments: rawArguments,
    argumentsSha256: sha256Schema,
    reason: z.string(),
    expiresAt: timestamp.optional(),
    preview: approvalPreviewSchema.optional(),
  }),
  'approval/decided': z.strictObject({
    approvalId: approvalIdSchema,
    outcome: approvalOutcomeSchema,
    scope: approvalScopeSchema.optional(),
    by: z.string(),
    note: z.string().optional(),
    /** What runs in the place of what the model asked for. */
    arguments: z.record(z.string(), z.json()).optional(),
    /** Which later calls an allow for the session covers; absent: those with the same arguments. */
    match: argumentPatternSchema.optional(),
  }),
  'question/asked': z.strictObject({
    questionId: questionIdSchema,
    callId: callIdSchema,
    questions: z.array(questionSchema),
    expiresAt: timestamp.optional(),
  }),
  'question/answered': z.strictObject({
    questionId: questionIdSchema,
    answers: z.array(answerSchema).nullable(),
    by: z.string(),
    outcome: z.enum(['answered', 'withdrawn', 'expired']),
  }),
  'approval/policy': z.strictObject({ permission: permissionModeSchema, source: z.string() }),
  'todo/write': z.strictObject({ todos: z.array(todoSchema) }),
} as const;

export type EventType = keyof typeof EVENT_SCHEMAS;
export type EventData<T extends EventType> = z.infer<(typeof EVENT_SCHEMAS)[T]>;

/** How a surface event enters the messages: at the end, or in the place of those from `startSeq` to `endSeq` (inclusive). */
export type Surface = 'append' | { replace: [startSeq: number, endSeq: number] };
export const surfaceSchema = z.union([
  z.literal('append'),
  z.strictObject({ replace: z.tuple([count, count]) }),
]);

/** The event types that make messages. */
export const SURFACE_EVENT_TYPES = [
  'user/message',
  'system/message',
  'assistant/message',
  'tool/result',
] as const satisfies readonly EventType[];

interface EventBody<T extends EventType> {
  readonly type: T;
  readonly turn?: number;
  readonly step?: number;
  readonly surface?: Surface;
  /** The seqs of the events that this one follows from. */
  readonly sources?: readonly number[];
  readonly data: EventData<T>;
}

/** A fact that is about to be appended. `key` makes the append idempotent: see `event-keys.ts`. */
export type NewEvent = { [T in EventType]: EventBody<T> & { readonly key?: string } }[EventType];

/** A stored event: `seq` is contiguous from 0 in its session, `at` is ISO 8601 in UTC with milliseconds. */
export type SessionEvent = {
  [T in EventType]: EventBody<T> & {
    readonly sessionId: SessionId;
    readonly seq: number;
    readonly at: string;
  };
}[EventType];

export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;

/** Whether this build knows the type. */
export function isEventType(type: string): type is EventType {
  return Object.hasOwn(EVENT_SCHEMAS, type);
}
