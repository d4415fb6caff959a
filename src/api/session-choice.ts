/** Checks at the door that a profile, provider and model exist, so that no turn fails for a name that was mistyped. */
import type { Profile } from '../contract/configuration.js';
import type { ModelResource } from '../contract/http.js';
import type { TurnLimits } from '../contract/session.js';
import { chooseModel, usualModelOf, type ModelChoice, type PartialChoice } from '../core/model-choice.js';
import { DEFAULT_PROFILE_NAME, profileInForce } from '../core/profile-in-force.js';
import type { SessionState } from '../core/session-state.js';
import { turnLimits } from '../core/turn-limits.js';
import type { AppDeps } from './app-deps.js';
import { ProblemError } from './problem.js';

/** What a caller asks for, or a session has: absent parts come from the profile. */
export interface SessionChoice {
  readonly profile?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly limits?: { readonly [K in keyof TurnLimits]?: TurnLimits[K] | undefined } | undefined;
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
 * The model that what was asked for, over what holds already, amounts to. A provider that is asked for alone gets its
 * usual model.
 *
 * @throws `ProblemError` `INVALID_REQUEST` that names the field to blame, also where a limit on cost would never be
 * reached, since the model has no price.
 */
export function checkModelChoice(asked: SessionChoice, holds: SessionChoice, deps: ChoiceDeps): ModelChoice {
  const profile =
    asked.profile === undefined
      ? profileInForce(deps.profiles, holds.profile)
      : profileNamed(asked.profile, deps);
  const offered = (provider: string) => deps.models.list().filter((entry) => entry.provider === provider);
  const { provider, model } = chooseModel(profile, [holds, asked], (name) =>
    usualModelOf(
      name,
      [profile, deps.profiles.get(DEFAULT_PROFILE_NAME)],
      offered(name).map((entry) => entry.model),
    ),
  );
  if (model === undefined || !deps.models.has(provider, model)) {
    throw noSuchModel(
      provider,
      model,
      offered(provider).map((entry) => entry.model),
    );
  }
  const { costUsd } = turnLimits(profile.limits, asked.limits ?? holds.limits);
  const limitsCost = costUsd !== null || profile.sessionLimits.costUsd !== null;
  const price = offered(provider).find((entry) => entry.model === model)?.price;
  if (limitsCost && price === undefined) throw noPrice(provider, model, asked);
  return { provider, model };
}

/** The choice as it is kept: both parts where either was asked for, so that it means the same later on. */
export function pinnedChoice(asked: SessionChoice, chosen: ModelChoice): Partial<ModelChoice> {
  return asked.provider === undefined && asked.model === undefined ? {} : chosen;
}

/**
 * What a prompt chose, over what holds in its session: provider and model, or neither.
 *
 * @throws as {@link checkModelChoice}.
 */
export function promptChoice(
  { provider, model }: Pick<SessionChoice, 'provider' | 'model'>,
  holds: SessionChoice,
  deps: ChoiceDeps,
): Partial<ModelChoice> {
  const asked = { provider, model };
  // A session whose own model has left the configuration can still be told to use another one.
  return provider === undefined && model === undefined
    ? {}
    : pinnedChoice(asked, checkModelChoice(asked, holds, deps));
}

/**
 * The model that will be shown a prompt: the running turn's where it steers, else what it chose itself over its session's.
 * Undefined where the configuration does not have it.
 */
export function modelShown(
  { settings, openTurn }: SessionState,
  prompt: { readonly steers: boolean; readonly choice: PartialChoice },
  { profiles, models }: ChoiceDeps,
): ModelResource | undefined {
  const running = prompt.steers ? openTurn : null;
  const holds = running?.settings ?? settings;
  const profile = profileInForce(profiles, holds?.profile);
  const layers = [holds ?? {}, running?.choice, prompt.choice];
  const { provider, model } = chooseModel(profile, layers, () => undefined);
  return models.list().find((entry) => entry.provider === provider && entry.model === model);
}

function noSuchModel(provider: string, model: string | undefined, offered: readonly string[]): ProblemError {
  if (offered.length === 0) {
    return new ProblemError(
      'INVALID_REQUEST',
      `"provider": there is no provider "${provider}" with models.`,
      'provider',
    );
  }
  const missing =
    model === undefined
      ? `has to be named, since the provider "${provider}" has several`
      : `the provider "${provider}" has no model "${model}"`;
  return new ProblemError('INVALID_REQUEST', `"model": ${missing}; it has: ${offered.join(', ')}.`, 'model');
}

function noPrice(provider: string, model: string, asked: SessionChoice): ProblemError {
  const field = asked.limits?.costUsd == null ? 'model' : 'limits.costUsd';
  return new ProblemError(
    'INVALID_REQUEST',
    `"${field}": a limit on cost needs a price, and the model "${model}" of the provider "${provider}" has none; ` +
      'the operator can set it in the configuration.',
    field,
  );
}
