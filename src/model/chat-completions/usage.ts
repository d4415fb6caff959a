/** The usage of chat completions with its parts made disjoint. */
import { z } from 'zod';
import type { Price } from '../../contract/configuration.js';
import type { Usage } from '../../contract/usage.js';
import { withCost } from '../usage-cost.js';

const tokens = z.number().nonnegative().nullish();

/** `usage` of a chunk: OpenAI's fields, and DeepSeek's where they differ. */
export const chatUsageSchema = z.object({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  prompt_cache_hit_tokens: tokens,
  prompt_tokens_details: z.object({ cached_tokens: tokens, cache_write_tokens: tokens }).nullish(),
  completion_tokens_details: z.object({ reasoning_tokens: tokens }).nullish(),
});

/** `prompt_tokens` holds what came from the cache and `completion_tokens` the reasoning; both are taken out. */
export function usageOf(raw: z.infer<typeof chatUsageSchema>, price: Price | undefined): Usage {
  const prompt = count(raw.prompt_tokens);
  const completion = count(raw.completion_tokens);
  const cacheReadTokens = Math.min(
    count(raw.prompt_cache_hit_tokens ?? raw.prompt_tokens_details?.cached_tokens),
    prompt,
  );
  const cacheWriteTokens = Math.min(
    count(raw.prompt_tokens_details?.cache_write_tokens),
    prompt - cacheReadTokens,
  );
  const reasoningTokens = count(raw.completion_tokens_details?.reasoning_tokens);
  return withCost(
    {
      inputTokens: prompt - cacheReadTokens - cacheWriteTokens,
      // A provider whose completion tokens leave out the reasoning may report more of it than of them.
      outputTokens: reasoningTokens > completion ? completion : completion - reasoningTokens,
      cacheReadTokens,
      cacheWriteTokens,
      reasoningTokens,
    },
    price,
  );
}

function count(value: number | null | undefined): number {
  return Math.round(value ?? 0);
}
