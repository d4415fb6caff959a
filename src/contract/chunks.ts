/**
 * Stream chunks: what a running attempt shows before it settles. They travel in frames, never in events.
 *
 * Exactly one `finish` ends a model attempt and nothing follows it; a block is opened before its deltas and closed
 * once.
 */
import { z } from 'zod';
import { usageSchema } from './usage.js';

const index = z.number().int().nonnegative();

export const finishReasonSchema = z.enum(['stop', 'tool-calls', 'max-tokens', 'aborted']);
export type FinishReason = z.infer<typeof finishReasonSchema>;

/** Chunks of a model attempt; `index` names the block in its message, from 0. */
export const modelChunkSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('block-start'),
    index,
    block: z.enum(['text', 'reasoning', 'tool-call']),
  }),
  z.strictObject({ type: z.literal('text-delta'), index, text: z.string() }),
  z.strictObject({ type: z.literal('reasoning-delta'), index, text: z.string() }),
  z.strictObject({
    type: z.literal('tool-call-delta'),
    index,
    callId: z.string().optional(),
    name: z.string().optional(),
    argumentsDelta: z.string(),
  }),
  z.strictObject({ type: z.literal('block-end'), index, replay: z.string().optional() }),
  z.strictObject({ type: z.literal('usage'), usage: usageSchema }),
  z.strictObject({ type: z.literal('finish'), reason: finishReasonSchema }),
]);
export type ModelChunk = z.infer<typeof modelChunkSchema>;

/** Chunks of a running tool. They are for watching; the result that counts is `tool/result`. */
export const toolChunkSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('tool-output'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  z.strictObject({
    type: z.literal('tool-progress'),
    message: z.string().optional(),
    fraction: z.number().min(0).max(1).optional(),
  }),
  z.strictObject({ type: z.literal('tool-finished'), isError: z.boolean(), code: z.string().optional() }),
]);
export type ToolChunk = z.infer<typeof toolChunkSchema>;

export const chunkSchema = z.union([modelChunkSchema, toolChunkSchema]);
export type Chunk = ModelChunk | ToolChunk;

/**
 * A batch of chunks as it is stored and sent. `frame` only grows in its session; `call` is the index of the call whose
 * output this is, absent for the model; `index` counts chunks from 0 in the attempt and is the first of this frame.
 */
export const frameSchema = z.strictObject({
  frame: z.number().int().positive(),
  turn: z.number().int().positive(),
  step: z.number().int().positive(),
  attempt: z.number().int().positive(),
  call: index.optional(),
  index,
  chunks: z.array(chunkSchema),
});
export type Frame = z.infer<typeof frameSchema>;
