/** The usage of the Messages wire, whose parts are disjoint as they come. */
import { z } from 'zod';
import type { Price } from '../../contract/configuration.js';
import type { Usage } from '../../contract/usage.js';
import { withCost } from '../usage-cost.js';

const tokens = z.number().nonnegative().nullish();

export const messagesUsageSchema = z.object({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
});
export type MessagesUsage = z.infer<typeof messagesUsageSchema>;

/** What a later event says replaces what an earlier one said; what it leaves out stands. */
export function mergedUsage(before: MessagesUsage, after: MessagesUsage): MessagesUsage {
  return {
    input_tokens: after.input_tokens ?? before.input_tokens,
    output_tokens: after.output_tokens ?? before.output_tokens,
    cache_read_input_tokens: after.cache_read_input_tokens ?? before.cache_read_input_tokens,
    cache_creation_input_tokens: after.cache_creation_input_tokens ?? before.cache_creation_input_tokens,
  };
}

/** Reasoning is part of the output tokens on this wire, and is not told apart. */
export function usageOf(raw: MessagesUsage, price: Price | undefined): Usage {
  return withCost(
    {
      inputTokens: Math.round(raw.input_tokens ?? 0),
      outputTokens: Math.round(raw.output_tokens ?? 0),
      cacheReadTokens: Math.round(raw.cache_read_input_tokens ?? 0),
      cacheWriteTokens: Math.round(raw.cache_creation_input_tokens ?? 0),
      reasoningTokens: 0,
    },
    price,
  );
}
