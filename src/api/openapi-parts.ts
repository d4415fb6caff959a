/**
 * What the description of the API is put together from: its components, made from the zod schemas, and the words for
 * parameters and answers.
 *
 * Owns no operation; those are in `openapi.ts` and what it is put together from.
 */
import { z } from 'zod';
import { frameSchema } from '../contract/chunks.js';
import { EVENT_SCHEMAS, surfaceSchema } from '../contract/events.js';
import type { ProblemCode } from '../contract/failures.js';
import {
  blobAnswerSchema,
  cancelAnswerSchema,
  cancelBodySchema,
  importedSessionSchema,
  jobBodySchema,
  messageResourceSchema,
  modelResourceSchema,
  problemSchema,
  promptAnswerSchema,
  promptBodySchema,
  queueItemSchema,
  queuePatchSchema,
  readinessSchema,
  sessionBodySchema,
  sessionPatchSchema,
  sessionResourceSchema,
  streamStateSchema,
  turnResourceSchema,
} from '../contract/http.js';
import {
  answersBodySchema,
  approvalResourceSchema,
  decisionBodySchema,
  decisionsAnswerSchema,
  decisionsBodySchema,
  questionResourceSchema,
} from '../contract/http-asks.js';
import { sessionIdSchema } from '../contract/ids.js';
import {
  approvalChangeSchema,
  questionChangeSchema,
  sessionChangeSchema,
} from '../contract/tenant-stream.js';

const count = z.number().int().nonnegative();

const eventSchema = z.union(
  Object.entries(EVENT_SCHEMAS).map(([type, data]) =>
    z.strictObject({
      sessionId: sessionIdSchema,
      seq: count,
      type: z.literal(type),
      at: z.iso.datetime(),
      turn: count.optional(),
      step: count.optional(),
      surface: surfaceSchema.optional(),
      sources: z.array(count).optional(),
      data,
    }),
  ),
);

/** The bodies of requests by their names in the description, as they are sent. */
export const BODIES = {
  SessionBody: sessionBodySchema,
  SessionPatch: sessionPatchSchema,
  PromptBody: promptBodySchema,
  QueuePatch: queuePatchSchema,
  CancelBody: cancelBodySchema,
  JobBody: jobBodySchema,
  DecisionBody: decisionBodySchema,
  DecisionsBody: decisionsBodySchema,
  AnswersBody: answersBodySchema,
} as const;

/** What is answered by its name in the description, as it comes. */
export const ANSWERS = {
  Session: sessionResourceSchema,
  ImportedSession: importedSessionSchema,
  Turn: turnResourceSchema,
  PromptAnswer: promptAnswerSchema,
  QueueItem: queueItemSchema,
  Blob: blobAnswerSchema,
  CancelAnswer: cancelAnswerSchema,
  Approval: approvalResourceSchema,
  DecisionsAnswer: decisionsAnswerSchema,
  Question: questionResourceSchema,
  Event: eventSchema,
  Frame: frameSchema,
  StreamState: streamStateSchema,
  SessionChange: sessionChangeSchema,
  ApprovalChange: approvalChangeSchema,
  QuestionChange: questionChangeSchema,
  Message: messageResourceSchema,
  Model: modelResourceSchema,
  Readiness: readinessSchema,
  Health: z.strictObject({ status: z.literal('ok'), version: z.string() }),
  Problem: problemSchema,
} as const;

/** A part of the description. */
export type Json = Readonly<Record<string, unknown>>;
type Component = keyof typeof BODIES | keyof typeof ANSWERS;

/** A reference to a component. */
export const ref = (name: Component): Json => ({ $ref: `#/components/schemas/${name}` });

/** An answer that is one component. */
export const json = (name: Component, description: string): Json => ({
  description,
  content: { 'application/json': { schema: ref(name) } },
});

/** An answer that also says in `Location` where it is from now on. */
export const located = (name: Component, description: string): Json => ({
  ...json(name, description),
  headers: {
    Location: { description: 'The path of what is answered.', required: true, schema: { type: 'string' } },
  },
});

/** The schema of a page of components. */
export const page = (item: Component, cursor = 'string'): Json => ({
  type: 'object',
  required: ['items', 'nextCursor'],
  properties: { items: { type: 'array', items: ref(item) }, nextCursor: { type: [cursor, 'null'] } },
});

/** An answer that is a page of components. */
export const list = (item: Component, description: string): Json => ({
  description,
  content: { 'application/json': { schema: page(item) } },
});

/** A parameter; those of a path are always required. */
export const parameter = (
  place: 'path' | 'query' | 'header',
  name: string,
  schema: Json,
  description: string,
) => ({
  name,
  in: place,
  required: place === 'path',
  schema,
  description,
});

/** The schema of any text. */
export const string = { type: 'string' };
/** The schema of a number from 1. */
export const ORDINAL = { type: 'integer', minimum: 1 };
/** The schema of a time. */
export const TIME = { type: 'string', format: 'date-time' };
/** The schema of a session id that is to be well-formed. */
export const SESSION_ID = z.toJSONSchema(sessionIdSchema, { io: 'input' });
/** The session of the path. */
export const ID = parameter('path', 'id', string, 'The session id.');
/** What the bytes of a body are. */
export const CONTENT_TYPE = parameter('header', 'Content-Type', string, 'The media type of the bytes.');
/** How many items a page has. */
export const LIMIT = parameter(
  'query',
  'limit',
  { type: 'integer', minimum: 1, maximum: 1000 },
  'How many at most; 100.',
);
/** Where a page begins. */
export const CURSOR = parameter(
  'query',
  'cursor',
  { type: 'string', minLength: 1 },
  'The `nextCursor` of the page before.',
);

/** One method of one path. */
export interface Operation {
  readonly summary: string;
  readonly parameters?: readonly Json[];
  readonly body?: keyof typeof BODIES;
  /** The body is bytes of one of these media types. */
  readonly bytes?: readonly string[];
  readonly answers: Readonly<Record<string, Json>>;
  /** Beside those that every operation of its kind has. */
  readonly problems?: readonly ProblemCode[];
}

/** Operations by path and method. */
export type Operations = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
