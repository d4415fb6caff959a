/**
 * Content blocks: what messages are made of, in the log, in the API and inside Turnkeeper.
 *
 * Owns their shapes. How a provider spells them is the business of `model/`.
 */
import { z } from 'zod';
import { callIdSchema, sha256Schema } from './ids.js';

/** Text as it was written; may hold any JavaScript string, NUL and lone surrogates included. */
export const textBlockSchema = z.strictObject({ type: z.literal('text'), text: z.string() });

/** A model's reasoning. `replay` is the provider's opaque proof (a signature) that goes back with it. */
export const reasoningBlockSchema = z.strictObject({
  type: z.literal('reasoning'),
  text: z.string(),
  replay: z.string().optional(),
});

/**
 * Stands for content over {@link MAX_INLINE_BYTES} that was moved to the blob store: in `content` in the place of
 * a text, in `arguments` in the place of the string. `bytes` counts UTF-8 bytes; `head` and `tail` are previews.
 */
export const blobBlockSchema = z.strictObject({
  type: z.literal('blob'),
  sha256: sha256Schema,
  bytes: z.number().int().nonnegative(),
  mediaType: z.string(),
  head: z.string(),
  tail: z.string(),
});

/** A call that the model asked for. `arguments` is the model's raw string until the call is executed. */
export const toolCallBlockSchema = z.strictObject({
  type: z.literal('tool-call'),
  callId: callIdSchema,
  name: z.string(),
  arguments: z.union([z.string(), blobBlockSchema]),
});

/** An image by the digest of its bytes in the blob store. */
export const imageBlockSchema = z.strictObject({
  type: z.literal('image'),
  blob: sha256Schema,
  mediaType: z.string(),
});

/** A file by the digest of its bytes in the blob store. */
export const fileBlockSchema = z.strictObject({
  type: z.literal('file'),
  blob: sha256Schema,
  name: z.string(),
  mediaType: z.string(),
});

/** What a person may put into a prompt and a tool into its result. */
export const inputBlockSchema = z.discriminatedUnion('type', [
  textBlockSchema,
  imageBlockSchema,
  fileBlockSchema,
  blobBlockSchema,
]);

/** What a model may put into an assistant message. */
export const assistantBlockSchema = z.discriminatedUnion('type', [
  textBlockSchema,
  reasoningBlockSchema,
  toolCallBlockSchema,
  blobBlockSchema,
]);

/** The result of one call, as it stands in the derived messages. */
export const toolResultBlockSchema = z.strictObject({
  type: z.literal('tool-result'),
  callId: callIdSchema,
  content: z.array(inputBlockSchema),
  isError: z.boolean(),
});

export type TextBlock = z.infer<typeof textBlockSchema>;
export type ReasoningBlock = z.infer<typeof reasoningBlockSchema>;
export type BlobBlock = z.infer<typeof blobBlockSchema>;
export type ToolCallBlock = z.infer<typeof toolCallBlockSchema>;
export type ToolResultBlock = z.infer<typeof toolResultBlockSchema>;
export type ImageBlock = z.infer<typeof imageBlockSchema>;
export type FileBlock = z.infer<typeof fileBlockSchema>;
export type InputBlock = z.infer<typeof inputBlockSchema>;
export type AssistantBlock = z.infer<typeof assistantBlockSchema>;

/** A string in an event that is longer than this in UTF-8 is moved to the blob store. */
export const MAX_INLINE_BYTES = 64 * 1024;
