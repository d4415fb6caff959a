/** The limits that hold for a session's turns: its profile's, narrowed or widened by what the session asked for. */
import type { SessionSettings, TurnLimits } from '../contract/session.js';

/** @param own what the session asked for; null lifts a limit, what is absent is the profile's. */
export function turnLimits(base: TurnLimits, own: SessionSettings['limits'] = {}): TurnLimits {
  return {
    steps: own.steps === undefined ? base.steps : own.steps,
    wallTimeMs: own.wallTimeMs === undefined ? base.wallTimeMs : own.wallTimeMs,
    tokens: own.tokens === undefined ? base.tokens : own.tokens,
    costUsd: own.costUsd === undefined ? base.costUsd : own.costUsd,
  };
}
