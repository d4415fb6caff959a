/** Where a provider's requests go and with which key. */
import type { ProviderEntry } from '../contract/configuration.js';
import type { Clock } from '../contract/ids.js';
import type { FailureContext } from './failure-classifier.js';
import { ModelFailure } from './model-failure.js';

/** A provider of the catalog with what it takes to call it. */
export interface ProviderTarget {
  /** The provider's name in the configuration. */
  readonly name: string;
  readonly entry: ProviderEntry;
  /** The environment, for the key; read at each call. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: Clock;
}

/** The key; undefined where the provider needs none. @throws {ModelFailure} MISSING_CREDENTIAL */
export function apiKey({ name, entry, env }: ProviderTarget): string | undefined {
  if (entry.apiKeyEnv === undefined) return undefined;
  const key = env[entry.apiKeyEnv]?.trim() ?? '';
  if (key === '') {
    throw new ModelFailure(
      'MISSING_CREDENTIAL',
      `The provider ${name} needs a key: set the environment variable ${entry.apiKeyEnv}`,
    );
  }
  return key;
}

/** Whether a call can be tried: the provider has an address, and a key where it needs one. */
export function isAvailable({ entry, env }: ProviderTarget): boolean {
  const hasKey = entry.apiKeyEnv === undefined || (env[entry.apiKeyEnv]?.trim() ?? '') !== '';
  return hasKey && (entry.wire === 'demo' || entry.baseUrl !== undefined);
}

/**
 * The address of an endpoint under the base URL, whose query (an API version, say) is kept.
 *
 * @param path begins with a slash. @throws {ModelFailure} INVALID_REQUEST where the provider has no base URL.
 */
export function endpoint({ name, entry }: ProviderTarget, path: string): URL {
  if (entry.baseUrl === undefined) {
    throw new ModelFailure(
      'INVALID_REQUEST',
      `The provider ${name} has no address: set providers.${name}.baseUrl in the configuration`,
    );
  }
  const url = new URL(entry.baseUrl);
  const root = url.pathname.replace(/\/+$/, '');
  // A base URL with or without the version names the same endpoint.
  url.pathname = path.startsWith('/v1/') ? `${root.replace(/\/v1$/, '')}${path}` : `${root}${path}`;
  return url;
}

/** The headers of every request; those of the configuration win. */
export function requestHeaders(
  { entry }: ProviderTarget,
  ofWire: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'user-agent': 'turnkeeper',
    ...ofWire,
  };
  for (const [name, value] of Object.entries(entry.headers)) headers[name.toLowerCase()] = value;
  return headers;
}

/** The context of this provider's failures; the key and the configured headers are masked in them. */
export function failureContext(target: ProviderTarget, key: string | undefined): FailureContext {
  const configured = Object.values(target.entry.headers).flatMap((value) => [value, ...value.split(' ')]);
  return {
    provider: target.name,
    // A header may be a key with its scheme in front; both are masked, short words of other headers are not.
    secrets: [...(key === undefined ? [] : [key]), ...configured.filter((value) => value.length >= 8)],
    now: target.now,
  };
}
