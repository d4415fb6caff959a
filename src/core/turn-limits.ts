/** The limits that hold for a session's turns: its profile's, narrowed or widened by what the session asked for. */
import type { Profile } from '../contract/configuration.js';
import type { SessionSettings, TurnLimits } from '../contract/session.js';

export function turnLimits(profile: Profile, settings: SessionSettings): TurnLimits {
  const own = settings.limits ?? {};
  return {
    steps: own.steps === undefined ? profile.limits.steps : own.steps,
    wallTimeMs: own.wallTimeMs === undefined ? profile.limits.wallTimeMs : own.wallTimeMs,
    tokens: own.tokens === undefined ? profile.limits.tokens : own.tokens,
    costUsd: own.costUsd === undefined ? profile.limits.costUsd : own.costUsd,
  };
}
