/**
 * What `GET /v1/events` tells of a whole tenant: that something is different now, and nothing of what was said.
 *
 * Each message says how a thing stands, so that an older one that comes late is made good by the next.
 */
import { z } from 'zod';
import { sessionStatusSchema } from './http.js';
import { approvalIdSchema, questionIdSchema, sessionIdSchema } from './ids.js';

const ordinal = z.number().int().positive();

/** Data of `session`. `changed`: its status, open turn, title or settings are. A removed one is told as idle. */
export const sessionChangeSchema = z.strictObject({
  id: sessionIdSchema,
  change: z.enum(['added', 'changed', 'removed']),
  status: sessionStatusSchema,
  /** The open turn. */
  turn: ordinal.nullable(),
});
export type SessionChange = z.infer<typeof sessionChangeSchema>;

const askPlace = {
  sessionId: sessionIdSchema,
  turn: ordinal,
  step: ordinal,
  status: z.enum(['open', 'closed']),
};

/** Data of `approval`. */
export const approvalChangeSchema = z.strictObject({ approvalId: approvalIdSchema, ...askPlace });
export type ApprovalChange = z.infer<typeof approvalChangeSchema>;

/** Data of `question`. */
export const questionChangeSchema = z.strictObject({ questionId: questionIdSchema, ...askPlace });
export type QuestionChange = z.infer<typeof questionChangeSchema>;

/** The data of each message by its SSE event. */
export const TENANT_STREAM_SCHEMAS = {
  session: sessionChangeSchema,
  approval: approvalChangeSchema,
  question: questionChangeSchema,
} as const;

export type TenantChangeType = keyof typeof TENANT_STREAM_SCHEMAS;

/** A message with the SSE event that it comes as. */
export type TenantChange =
  | { readonly type: 'session'; readonly data: SessionChange }
  | { readonly type: 'approval'; readonly data: ApprovalChange }
  | { readonly type: 'question'; readonly data: QuestionChange };

/** Whether a message of this type is ever sent. */
export function isTenantChangeType(type: string): type is TenantChangeType {
  return Object.hasOwn(TENANT_STREAM_SCHEMAS, type);
}
