/** What a usage costs at a model's prices. */
import type { Price } from '../contract/configuration.js';
import type { Usage } from '../contract/usage.js';

const TOKENS_PER_PRICE = 1_000_000;

/** The usage with its cost in US dollars; null where the model has no price. Reasoning is priced as output. */
export function withCost(usage: Omit<Usage, 'costUsd'>, price: Price | undefined): Usage {
  if (price === undefined) return { ...usage, costUsd: null };
  const sum =
    usage.inputTokens * price.input +
    usage.cacheReadTokens * (price.cacheRead ?? price.input) +
    usage.cacheWriteTokens * (price.cacheWrite ?? price.input) +
    (usage.outputTokens + usage.reasoningTokens) * price.output;
  return { ...usage, costUsd: sum / TOKENS_PER_PRICE };
}
