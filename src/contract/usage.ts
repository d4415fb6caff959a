/** Token usage and its price. */
import { z } from 'zod';

const tokens = z.number().int().nonnegative();

/**
 * Tokens of one or more model calls. The parts are disjoint: `inputTokens` leaves out what was read from or written
 * to the provider's cache, `outputTokens` leaves out reasoning. `costUsd` is in US dollars, and null where a price
 * is not known.
 */
export const usageSchema = z.strictObject({
  inputTokens: tokens,
  outputTokens: tokens,
  cacheReadTokens: tokens.default(0),
  cacheWriteTokens: tokens.default(0),
  reasoningTokens: tokens.default(0),
  costUsd: z.number().nonnegative().nullable().default(null),
});
export type Usage = z.infer<typeof usageSchema>;

/** The sum of nothing: no tokens and no cost. */
export const ZERO_USAGE: Usage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: 0,
});

/** Adds two usages; the cost of the sum is known only where both costs are. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    costUsd: a.costUsd === null || b.costUsd === null ? null : a.costUsd + b.costUsd,
  };
}

/** All tokens of a usage, whatever their kind. */
export function totalTokens(usage: Usage): number {
  return (
    usage.inputTokens +
    usage.outputTokens +
    usage.cacheReadTokens +
    usage.cacheWriteTokens +
    usage.reasoningTokens
  );
}
