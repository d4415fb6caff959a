/**
 * The HTTP API's bodies: requests as zod schemas that also say what is wrong, answers as schemas for the OpenAPI
 * description and types for client and server (CONTRACT).
 */
import { z } from 'zod';
import { modelAbilitiesSchema, priceSchema } from './configuration.js';
import {
  inputBlockSchema,
  reasoningBlockSchema,
  toolCallBlockSchema,
  toolResultBlockSchema,
} from './content.js';
import { EVENT_SCHEMAS, inboxTargetSchema, promptModeSchema } from './events.js';
import { itemIdSchema, requestIdSchema, sessionIdSchema, sha256Schema } from './ids.js';
import { isTooDeep, jsonValueSchema } from './json.js';
import { metadataSchema, permissionModeSchema, turnLimitsSchema } from './session.js';
import { turnEndReasonSchema } from './turn-end.js';
import { usageSchema } from './usage.js';

const ordinal = z.number().int().positive();
const count = z.number().int().nonnegative();
const timestamp = z.iso.datetime();

const timeZoneSchema = z.string().refine(isTimeZone, 'must be a time zone of the IANA database');
function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    // Not a zone that this runtime knows: that is the answer.
    return false;
  }
}

const nonBlank = z.string().regex(/\S/, 'must not be blank');
const contentSchema = z
  .array(inputBlockSchema)
  .min(1)
  .refine(
    (blocks) => blocks.some((block) => block.type !== 'text' || block.text.trim() !== ''),
    'must not be blank',
  );

/** Either `text` or `content`, never both. */
function hasOneInput(value: { text?: string | undefined; content?: unknown }): boolean {
  return (value.text === undefined) !== (value.content === undefined);
}
const ONE_INPUT = { message: 'give either text or content', path: ['text'] };

export const sessionBodySchema = z.strictObject({
  id: sessionIdSchema.optional(),
  title: nonBlank.max(200).optional(),
  profile: z.string().min(1).optional(),
  provider: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  workspace: z.string().min(1).optional(),
  permission: permissionModeSchema.optional(),
  limits: turnLimitsSchema.partial().optional(),
  metadata: metadataSchema.optional(),
});
export type SessionBody = z.infer<typeof sessionBodySchema>;

/** What may be changed of a session: its title, and settings that hold from the next turn on. */
export const sessionPatchSchema = z.strictObject({
  title: nonBlank.max(200).optional(),
  profile: z.string().min(1).optional(),
  provider: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  permission: permissionModeSchema.optional(),
  limits: turnLimitsSchema.partial().optional(),
  metadata: metadataSchema.optional(),
});
export type SessionPatch = z.infer<typeof sessionPatchSchema>;

/** What becomes of a prompt where a turn is open: it is refused, or goes first and the turn is cancelled. */
export const whenRunningSchema = z.enum(['reject', 'interrupt']);
export type WhenRunning = z.infer<typeof whenRunningSchema>;

export const promptBodySchema = z
  .strictObject({
    requestId: requestIdSchema.optional(),
    mode: promptModeSchema.default('queue'),
    /** Default: it waits as its mode says. */
    whenRunning: whenRunningSchema.optional(),
    text: nonBlank.optional(),
    content: contentSchema.optional(),
    timeZone: timeZoneSchema.optional(),
    provider: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
    /** Nobody can answer what the turn asks: its asks are closed at once instead of waiting. */
    unattended: z.boolean().optional(),
  })
  .refine(hasOneInput, ONE_INPUT)
  .refine(({ mode, whenRunning }) => whenRunning !== 'interrupt' || mode === 'queue', {
    error: 'a prompt that interrupts has a turn of its own, so its mode is queue',
    path: ['whenRunning'],
  });
export type PromptBody = z.infer<typeof promptBodySchema>;

/** A change of an item that waits: other content, another mode, or both. */
export const queuePatchSchema = z
  .strictObject({
    text: nonBlank.optional(),
    content: contentSchema.optional(),
    mode: z.enum(['steer', 'queue']).optional(),
  })
  .refine(({ text, content }) => text === undefined || content === undefined, ONE_INPUT)
  .refine((patch) => Object.values(patch).some((value) => value !== undefined), {
    error: 'give text, content or mode',
    path: ['text'],
  });
export type QueuePatch = z.infer<typeof queuePatchSchema>;

export const cancelBodySchema = z.strictObject({ cause: z.string().max(500).optional() });
export type CancelBody = z.infer<typeof cancelBodySchema>;

/** The largest JSON Schema of a job, as JSON text in UTF-8. */
export const MAX_OUTPUT_SCHEMA_BYTES = 64 * 1024;

/** A JSON Schema as an object. Whether it is a valid one is checked by who has a validator. */
const outputSchemaSchema = z
  .record(z.string(), z.unknown())
  .refine((schema) => !isTooDeep(schema), { error: 'is nested too deeply', abort: true })
  .refine(
    (schema) => new TextEncoder().encode(JSON.stringify(schema)).byteLength <= MAX_OUTPUT_SCHEMA_BYTES,
    `must be at most ${String(MAX_OUTPUT_SCHEMA_BYTES / 1024)} KiB of JSON`,
  );

/** Where the end of a turn is posted to. The secret signs what is posted, and is shown nowhere. */
export const webhookSchema = z.strictObject({
  url: z.string().min(1).max(4096),
  secret: z.string().min(1).max(1024).optional(),
});
export type Webhook = z.infer<typeof webhookSchema>;

export const jobBodySchema = z.strictObject({
  prompt: z.union([nonBlank, contentSchema]),
  sessionId: sessionIdSchema.optional(),
  requestId: requestIdSchema.optional(),
  profile: z.string().min(1).optional(),
  provider: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  workspace: z.string().min(1).optional(),
  permission: permissionModeSchema.optional(),
  limits: turnLimitsSchema.partial().optional(),
  metadata: metadataSchema.optional(),
  timeZone: timeZoneSchema.optional(),
  /** As in a prompt. */
  unattended: z.boolean().optional(),
  outputSchema: outputSchemaSchema.optional(),
  webhook: webhookSchema.optional(),
});
export type JobBody = z.infer<typeof jobBodySchema>;

export const sessionStatusSchema = z.enum(['idle', 'running', 'waiting-approval', 'retrying', 'cancelling']);
export type SessionStatus = z.infer<typeof sessionStatusSchema>;

export const turnStatusSchema = z.enum(['running', 'waiting-approval', 'retrying', 'cancelling', 'ended']);
export type TurnStatusName = z.infer<typeof turnStatusSchema>;

export const queueItemSchema = z.strictObject({
  itemId: itemIdSchema,
  requestId: requestIdSchema,
  target: inboxTargetSchema,
  content: z.array(inputBlockSchema),
  at: timestamp,
  position: count,
});
export type QueueItem = z.infer<typeof queueItemSchema>;

export const sessionResourceSchema = z.strictObject({
  id: sessionIdSchema,
  title: z.string(),
  status: sessionStatusSchema,
  turn: ordinal.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  workspace: z.string(),
  profile: z.string(),
  provider: z.string(),
  model: z.string(),
  permission: permissionModeSchema,
  limits: turnLimitsSchema,
  queue: z.array(queueItemSchema),
  approvals: count,
  usage: usageSchema,
  headSeq: z.number().int(),
  metadata: metadataSchema,
});
export type SessionResource = z.infer<typeof sessionResourceSchema>;

/** A session that was imported; `repaired` says what is not as it was, as `session/repaired` does. */
export const importedSessionSchema = sessionResourceSchema.extend({
  repaired: EVENT_SCHEMAS['session/repaired'].optional(),
});
export type ImportedSession = z.infer<typeof importedSessionSchema>;

export const turnResourceSchema = z.strictObject({
  sessionId: sessionIdSchema,
  turn: ordinal,
  status: turnStatusSchema,
  reason: turnEndReasonSchema.optional(),
  output: z.string().optional(),
  /** The output as a value that fits the turn's output schema. */
  structured: jsonValueSchema.optional(),
  usage: usageSchema,
  steps: count,
  requestIds: z.array(requestIdSchema),
  startedAt: timestamp,
  endedAt: timestamp.optional(),
  retryAt: timestamp.optional(),
  approvals: z.array(z.string()),
});
export type TurnResource = z.infer<typeof turnResourceSchema>;

export const promptAnswerSchema = z.strictObject({
  accepted: z.literal(true),
  requestId: requestIdSchema,
  sessionId: sessionIdSchema,
  itemId: itemIdSchema,
  turn: ordinal.nullable(),
  position: count.nullable(),
  cursor: z.string(),
  duplicate: z.boolean(),
});
export type PromptAnswer = z.infer<typeof promptAnswerSchema>;

/** Bytes that were uploaded, as content blocks name them. */
export const blobAnswerSchema = z.strictObject({ sha256: sha256Schema, bytes: count, mediaType: z.string() });
export type BlobAnswer = z.infer<typeof blobAnswerSchema>;

export const cancelAnswerSchema = z.strictObject({ cancelled: z.boolean(), turn: ordinal.nullable() });
export type CancelAnswer = z.infer<typeof cancelAnswerSchema>;

/** RFC 9457 problem details; `field` is the path of the wrong field where one is to blame. */
export const problemSchema = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  code: z.string(),
  detail: z.string(),
  field: z.string().optional(),
});
export type Problem = z.infer<typeof problemSchema>;

/** An item of `GET …/messages`: `seq` is the log event that made the message. */
export const messageResourceSchema = z.strictObject({
  seq: count,
  role: z.enum(['user', 'assistant']),
  content: z.array(
    z.union([inputBlockSchema, toolResultBlockSchema, reasoningBlockSchema, toolCallBlockSchema]),
  ),
});

/** An item of `GET /v1/models`. `available` is false where the provider cannot be used, such as without its key. */
export const modelResourceSchema = z.strictObject({
  provider: z.string(),
  model: z.string(),
  contextWindow: ordinal,
  maxTokens: ordinal,
  abilities: modelAbilitiesSchema,
  price: priceSchema.optional(),
  available: z.boolean(),
});
export type ModelResource = z.infer<typeof modelResourceSchema>;

/** A page of a list; `nextCursor` is null at its end. */
export interface Page<T, C = string> {
  readonly items: readonly T[];
  readonly nextCursor: C | null;
}

/** Data of the SSE event `state`. */
export const streamStateSchema = z.strictObject({
  status: sessionStatusSchema,
  turn: ordinal.nullable(),
  step: ordinal.optional(),
  attempt: ordinal.optional(),
  retryAt: timestamp.optional(),
  approvals: count,
  queue: count,
  engine: z.enum(['up', 'down']),
});
export type StreamState = z.infer<typeof streamStateSchema>;

export const readinessSchema = z.strictObject({
  status: z.enum(['ready', 'starting', 'draining', 'unavailable']),
  version: z.string(),
  store: z.strictObject({ kind: z.enum(['sqlite', 'postgres']), ok: z.boolean() }),
  engine: z.strictObject({
    ok: z.boolean(),
    address: z.string(),
    namespace: z.string(),
    embedded: z.boolean(),
    uiUrl: z.string().optional(),
  }),
});
export type Readiness = z.infer<typeof readinessSchema>;

/** The default and the largest `?limit=` of a list. */
export const PAGE_LIMIT = { default: 100, max: 1000 } as const;
/** The longest `?wait=`, in seconds. */
export const MAX_WAIT_SECONDS = 300;
/** How often a stream sends `ping`. */
export const PING_INTERVAL_MS = 10_000;
