/** The shapes of a Messages stream's events, as far as they are used; what else an event holds is not looked at. */
import { z } from 'zod';
import { messagesUsageSchema } from './usage.js';

const index = z.number().int().nonnegative();

const contentBlockSchema = z.object({
  type: z.string(),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
  signature: z.string().nullish(),
  data: z.string().nullish(),
  id: z.string().nullish(),
  name: z.string().nullish(),
  input: z.unknown().optional(),
});
export type ContentBlock = z.infer<typeof contentBlockSchema>;

const deltaSchema = z.object({
  type: z.string(),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
  signature: z.string().nullish(),
  partial_json: z.string().nullish(),
});
export type BlockDelta = z.infer<typeof deltaSchema>;

/** The schema of each event type that says something. */
export const MESSAGES_EVENT_SCHEMAS = {
  message_start: z.object({
    type: z.literal('message_start'),
    message: z.object({ usage: messagesUsageSchema.nullish() }),
  }),
  content_block_start: z.object({
    type: z.literal('content_block_start'),
    index,
    content_block: contentBlockSchema,
  }),
  content_block_delta: z.object({ type: z.literal('content_block_delta'), index, delta: deltaSchema }),
  content_block_stop: z.object({ type: z.literal('content_block_stop'), index }),
  message_delta: z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: z.string().nullish() }).nullish(),
    usage: messagesUsageSchema.nullish(),
  }),
  message_stop: z.object({ type: z.literal('message_stop') }),
} as const;

export const messagesEventSchema = z.discriminatedUnion('type', [
  MESSAGES_EVENT_SCHEMAS.message_start,
  MESSAGES_EVENT_SCHEMAS.content_block_start,
  MESSAGES_EVENT_SCHEMAS.content_block_delta,
  MESSAGES_EVENT_SCHEMAS.content_block_stop,
  MESSAGES_EVENT_SCHEMAS.message_delta,
  MESSAGES_EVENT_SCHEMAS.message_stop,
]);
export type MessagesEvent = z.infer<typeof messagesEventSchema>;
