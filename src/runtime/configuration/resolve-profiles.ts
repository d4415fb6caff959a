/**
 * Turns the profiles as they are written into profiles with nothing left open. Pure.
 *
 * Which providers exist is the model room's; `checkProfileProviders` takes their names.
 */
import {
  DEFAULT_PROFILE,
  type Configuration,
  type Price,
  type Profile,
  type ProfileEntry,
} from '../../contract/configuration.js';
import type { SessionLimits } from '../../contract/session.js';
import { turnLimits } from '../../core/turn-limits.js';
import { ConfigurationError } from './configuration-error.js';
import { formatPath } from './configuration-path.js';
import { nearestNameHint } from './nearest-name.js';

interface Choice {
  readonly provider: string;
  readonly model: string;
}

const DEMO: Choice = { provider: 'demo', model: 'demo' };
const DEEPSEEK: Choice = { provider: 'deepseek', model: 'deepseek-v4-flash' };

/**
 * Every profile by its name; `default` is always among them.
 *
 * What a profile leaves out comes from the one it extends and then from DEFAULT_PROFILE; `limits`, `sessionLimits` and
 * `parameters` key by key, lists as a whole. A provider that is left out altogether is that of `default`, whose own is DeepSeek
 * where DEEPSEEK_API_KEY is set and the demo otherwise. A model never comes from a profile with another provider.
 *
 * @throws ConfigurationError `PROFILE_INVALID` for an unknown `extends`, a cycle, or a model that is nowhere named.
 */
export function resolveProfiles(
  configuration: Configuration,
  env: NodeJS.ProcessEnv,
): Readonly<Record<string, Profile>> {
  const entries = configuration.profiles;
  const fallback = (env.DEEPSEEK_API_KEY ?? '').trim() === '' ? DEMO : DEEPSEEK;
  const standard = completed('default', flattened('default', entries), fallback, configuration);
  const others = Object.keys(entries)
    .filter((name) => name !== 'default')
    .map((name) => completed(name, flattened(name, entries), standard, configuration));
  return Object.fromEntries([standard, ...others].map((profile) => [profile.name, profile]));
}

/**
 * Refuses profiles whose provider is not there.
 *
 * @throws ConfigurationError `PROFILE_INVALID`.
 */
export function checkProfileProviders(
  profiles: Readonly<Record<string, Profile>>,
  providers: readonly string[],
): void {
  for (const { name, provider } of Object.values(profiles)) {
    if (providers.includes(provider)) continue;
    throw invalid(
      name,
      'provider',
      `names ${JSON.stringify(provider)}, which is no provider; ${nearestNameHint(provider, providers)}`,
    );
  }
}

/**
 * Refuses profiles that limit the cost of a model whose price is not known: such a limit would never be reached.
 *
 * @param models what there is; a model that is not among them is not looked at.
 * @throws ConfigurationError `PROFILE_INVALID`.
 */
export function checkProfilePrices(
  profiles: Readonly<Record<string, Profile>>,
  models: readonly { readonly provider: string; readonly model: string; readonly price?: Price }[],
): void {
  for (const { name, provider, model, limits, sessionLimits } of Object.values(profiles)) {
    const key =
      limits.costUsd !== null ? 'limits' : sessionLimits.costUsd !== null ? 'sessionLimits' : undefined;
    const used = models.find((entry) => entry.provider === provider && entry.model === model);
    if (key === undefined || used === undefined || used.price !== undefined) continue;
    throw invalid(
      name,
      [key, 'costUsd'],
      `limits the cost of the model ${JSON.stringify(model)}, whose price is not known. Set ` +
        `${formatPath(['providers', provider, 'models', model, 'price'])} (0 for a model that costs nothing), or take the limit out.`,
    );
  }
}

/** The entry with everything that it extends, the nearest winning. */
function flattened(name: string, entries: Configuration['profiles']): ProfileEntry {
  const chain: string[] = [];
  const collect = (current: string): ProfileEntry => {
    if (chain.includes(current)) {
      throw invalid(
        name,
        'extends',
        `goes in a circle: ${[...chain, current].join(' -> ')}. Take one link out.`,
      );
    }
    const entry = Object.hasOwn(entries, current) ? entries[current] : undefined;
    if (entry === undefined && current !== 'default') {
      const from = chain.at(-1) ?? current;
      const known = [...new Set(['default', ...Object.keys(entries)])].filter((other) => other !== from);
      throw invalid(
        from,
        'extends',
        `names ${JSON.stringify(current)}, which is no profile; ${nearestNameHint(current, known)}`,
      );
    }
    chain.push(current);
    return entry?.extends === undefined ? (entry ?? {}) : merged(collect(entry.extends), entry);
  };
  return collect(name);
}

function merged(base: ProfileEntry, entry: ProfileEntry): ProfileEntry {
  const { model, ...withoutModel } = base;
  const changesProvider = entry.provider !== undefined && entry.provider !== base.provider;
  return {
    ...withoutModel,
    ...(model === undefined || changesProvider ? {} : { model }),
    ...entry,
    parameters: { ...base.parameters, ...entry.parameters },
    limits: { ...base.limits, ...entry.limits },
    sessionLimits: { ...base.sessionLimits, ...entry.sessionLimits },
  };
}

function completed(
  name: string,
  entry: ProfileEntry,
  standard: Choice,
  configuration: Configuration,
): Profile {
  const provider = entry.provider ?? standard.provider;
  return {
    name,
    provider,
    model: entry.model ?? modelOf(name, provider, standard, configuration),
    parameters: { ...DEFAULT_PROFILE.parameters, ...entry.parameters },
    permission: entry.permission ?? DEFAULT_PROFILE.permission,
    rules: entry.rules ?? DEFAULT_PROFILE.rules,
    tools: entry.tools ?? DEFAULT_PROFILE.tools,
    limits: turnLimits(DEFAULT_PROFILE.limits, entry.limits),
    sessionLimits: completedSessionLimits(entry.sessionLimits ?? {}),
    approvalExpiresMs:
      entry.approvalExpiresMs === undefined ? DEFAULT_PROFILE.approvalExpiresMs : entry.approvalExpiresMs,
    maxParallelToolCalls: entry.maxParallelToolCalls ?? DEFAULT_PROFILE.maxParallelToolCalls,
    sandbox: entry.sandbox ?? DEFAULT_PROFILE.sandbox,
    titles: entry.titles ?? DEFAULT_PROFILE.titles,
    instructions: entry.instructions ?? DEFAULT_PROFILE.instructions,
  };
}

/** A limit that is null is no limit, and stays null. */
function completedSessionLimits(given: NonNullable<ProfileEntry['sessionLimits']>): SessionLimits {
  const standard: SessionLimits = DEFAULT_PROFILE.sessionLimits;
  return {
    tokens: given.tokens === undefined ? standard.tokens : given.tokens,
    costUsd: given.costUsd === undefined ? standard.costUsd : given.costUsd,
  };
}

/** The model of a profile that names none: its provider's usual one, or the only one that the provider lists. */
function modelOf(name: string, provider: string, standard: Choice, configuration: Configuration): string {
  const usual = [standard, DEMO, DEEPSEEK].find((choice) => choice.provider === provider);
  if (usual !== undefined) return usual.model;
  const entry = Object.hasOwn(configuration.providers, provider)
    ? configuration.providers[provider]
    : undefined;
  const models = Object.keys(entry?.models ?? {});
  const [only, ...more] = models;
  if (only !== undefined && more.length === 0) return only;
  throw invalid(
    name,
    'model',
    `is missing, and the provider ${JSON.stringify(provider)} has no single model to take. ` +
      (models.length === 0 ? 'Name one.' : `Name one of: ${models.join(', ')}.`),
  );
}

function invalid(profile: string, key: string | readonly string[], message: string): ConfigurationError {
  return new ConfigurationError('PROFILE_INVALID', [
    { source: 'configuration', path: formatPath(['profiles', profile, ...[key].flat()]), message },
  ]);
}
