/** Refuses prompts to sessions that have spent what they may: what is accepted must have a chance to be answered. */
import type { SessionLimits } from '../contract/session.js';
import { chooseModel, type PartialChoice } from '../core/model-choice.js';
import { profileInForce } from '../core/profile-in-force.js';
import type { SessionState } from '../core/session-state.js';
import { limitReached } from '../core/spending.js';
import type { AppDeps } from './app-deps.js';
import { ProblemError } from './problem.js';

const NO_LIMITS: SessionLimits = { tokens: null, costUsd: null };

/**
 * Checks that the limits of the session leave room for another model call.
 *
 * @param asked the prompt's own choice, provider and model both or neither.
 * @throws `ProblemError` `LIMIT_REACHED`.
 */
export function checkSessionAllowance(
  state: SessionState,
  asked: PartialChoice,
  { profiles, models }: Pick<AppDeps, 'profiles' | 'models'>,
): void {
  const profile = profileInForce(profiles, state.settings?.profile);
  const { provider, model } = chooseModel(profile, [state.settings ?? {}, asked], () => undefined);
  const price = models.list().find((entry) => entry.provider === provider && entry.model === model)?.price;
  const reached = limitReached(state, { turn: NO_LIMITS, session: profile.sessionLimits, price });
  if (reached === null) return;
  const key = reached.which === 'cost' ? 'costUsd' : 'tokens';
  const amount =
    reached.which === 'cost' ? `${String(reached.value)} US dollars` : `${String(reached.value)} tokens`;
  throw new ProblemError(
    'LIMIT_REACHED',
    `The session may use ${amount} in all, and what is left does not suffice for another model call. Start another ` +
      `session, or have profiles.${profile.name}.sessionLimits.${key} raised.`,
  );
}
