/**
 * What may still be spent: the limits on tokens and cost of a turn and of its session, asked before each model call.
 *
 * Pure. The account is the log's: failed attempts are in it as far as their provider said what they used.
 */
import type { Price } from '../contract/configuration.js';
import type { SessionLimits } from '../contract/session.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import { totalTokens, ZERO_USAGE, type Usage } from '../contract/usage.js';
import type { SessionState } from './session-state.js';

/** The limits that a call is held against, and the price of the model that it goes to. */
export interface Spending {
  readonly turn: SessionLimits;
  readonly session: SessionLimits;
  readonly price: Price | undefined;
}

export type LimitReached = Extract<TurnEndReason, { kind: 'limit' }>;

/**
 * The limit that leaves no room for another call; null where there is room.
 *
 * A call is held against its **reserve**, the least that it uses: the request says once more what the last one said and
 * what was answered to it, so the reserve is the tokens of the last answered call, but for its reasoning, plus one to
 * answer with; before a session's first answer it is that one token. In money, what is said again costs no more than the
 * model's price for cached input, where it has one. New input is not estimated, and a single answer is not cut short: a
 * limit can be passed by as much as one call uses, never by more.
 *
 * Fails closed: an account whose cost is not known has reached every limit on cost.
 */
export function limitReached(state: SessionState, { turn, session, price }: Spending): LimitReached | null {
  const reserve = reserveOf(state.lastCall, price);
  return (
    reachedBy(state.openTurn?.usage ?? ZERO_USAGE, turn, reserve) ?? reachedBy(state.usage, session, reserve)
  );
}

interface Reserve {
  readonly tokens: number;
  readonly costUsd: number;
}

function reserveOf(lastCall: Usage | null, price: Price | undefined): Reserve {
  const repeated = lastCall === null ? 0 : totalTokens(lastCall) - lastCall.reasoningTokens;
  const perRepeated = price === undefined ? 0 : Math.min(price.input, price.cacheRead ?? price.input);
  return {
    tokens: repeated + 1,
    costUsd: (repeated * perRepeated + (price?.output ?? 0)) / 1_000_000,
  };
}

function reachedBy(spent: Usage, limits: SessionLimits, reserve: Reserve): LimitReached | null {
  if (limits.tokens !== null && totalTokens(spent) + reserve.tokens > limits.tokens) {
    return { kind: 'limit', which: 'tokens', value: limits.tokens };
  }
  if (
    limits.costUsd !== null &&
    (spent.costUsd === null || spent.costUsd + reserve.costUsd > limits.costUsd)
  ) {
    return { kind: 'limit', which: 'cost', value: limits.costUsd };
  }
  return null;
}
