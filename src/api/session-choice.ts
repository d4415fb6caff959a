/** Checks at the door that a profile, provider and model exist, so that no turn fails for a name that was mistyped. */
import type { Profile } from '../contract/configuration.js';
import type { AppDeps } from './app-deps.js';
import { ProblemError } from './problem.js';

/** The profile of sessions that name none. */
export const DEFAULT_PROFILE_NAME = 'default';

/** What a caller asks for, or a session has: absent parts come from the profile. */
export interface ModelChoice {
  readonly profile?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

type ChoiceDeps = Pick<AppDeps, 'profiles' | 'models'>;

/** The profile of a name. @throws `ProblemError` `INVALID_REQUEST` where there is none. */
export function profileNamed(name: string, deps: ChoiceDeps): Profile {
  const profile = deps.profiles.get(name);
  if (profile === undefined) {
    const known = [...deps.profiles.keys()].join(', ');
    throw new ProblemError(
      'INVALID_REQUEST',
      `"profile": there is no profile "${name}"; there are: ${known}.`,
      'profile',
    );
  }
  return profile;
}

/**
 * Checks that what was asked for, over what holds already, names a model that exists.
 *
 * @throws `ProblemError` `INVALID_REQUEST` that names the field to blame.
 */
export function checkModelChoice(asked: ModelChoice, holds: ModelChoice, deps: ChoiceDeps): void {
  const profile = profileNamed(asked.profile ?? holds.profile ?? DEFAULT_PROFILE_NAME, deps);
  const provider = asked.provider ?? holds.provider ?? profile.provider;
  const model = asked.model ?? holds.model ?? profile.model;
  if (deps.models.has(provider, model)) return;
  const offered = deps.models.list().filter((entry) => entry.provider === provider);
  if (offered.length === 0) {
    throw new ProblemError(
      'INVALID_REQUEST',
      `"provider": there is no provider "${provider}" with models.`,
      'provider',
    );
  }
  const names = offered.map((entry) => entry.model).join(', ');
  throw new ProblemError(
    'INVALID_REQUEST',
    `"model": the provider "${provider}" has no model "${model}"; it has: ${names}.`,
    'model',
  );
}
