/**
 * The providers and models that there are: the built-in ones and those of the configuration.
 *
 * Owns which adapter serves a model. Which model a session uses is decided by its profile.
 */
import type { ModelEntry, Price, ProviderEntry } from '../contract/configuration.js';
import { assertNever } from '../contract/failures.js';
import type { Clock } from '../contract/ids.js';
import { BUILT_IN_PROVIDERS } from './built-in-providers.js';
import { createChatCompletionsAdapter } from './chat-completions/adapter.js';
import { createDemoAdapter } from './demo/adapter.js';
import { gatedAdapter } from './gated-adapter.js';
import { createMessagesAdapter } from './messages/adapter.js';
import type { ModelAdapter } from './model-adapter.js';
import { ProviderGate } from './provider-gate.js';
import { isAvailable, type ProviderTarget } from './provider-target.js';

export interface ModelCatalogOptions {
  readonly now?: Clock;
  /** Shared by all catalogs of a worker; default one of its own. */
  readonly gate?: ProviderGate;
  /** How long the demo provider waits before each word, in milliseconds. */
  readonly demoWordDelayMs?: number;
}

export interface CatalogModel {
  readonly provider: string;
  readonly name: string;
  readonly entry: ProviderEntry;
  readonly model: ModelEntry;
  readonly adapter: ModelAdapter;
  /** Whether the provider has its key and address now. A call without them fails with a code that says so. */
  readonly available: boolean;
}

/** An item of `GET /v1/models`. */
export interface ModelListItem {
  readonly provider: string;
  readonly model: string;
  readonly contextWindow: number;
  readonly maxTokens: number;
  readonly abilities: ModelEntry['abilities'];
  readonly price?: Price;
  readonly available: boolean;
}

export interface ModelCatalog {
  /** Every provider entry by its name. */
  readonly providers: Readonly<Record<string, ProviderEntry>>;
  /** The model, with its adapter behind the gate; undefined where the provider or the model is unknown. */
  resolve(provider: string, model: string): CatalogModel | undefined;
  list(): ModelListItem[];
}

/**
 * Joins the configured entries with the built-in ones. A configured entry of a built-in name and the same wire keeps
 * the built-in address, key variable and models where it has none of its own; with another wire it stands alone.
 *
 * @param env the environment that holds the keys; read at each call.
 */
export function createModelCatalog(
  entries: Readonly<Record<string, ProviderEntry>>,
  env: Readonly<Record<string, string | undefined>>,
  options: ModelCatalogOptions = {},
): ModelCatalog {
  const providers: Record<string, ProviderEntry> = { ...BUILT_IN_PROVIDERS };
  for (const [name, entry] of Object.entries(entries)) providers[name] = extended(providers[name], entry);
  const gate = options.gate ?? new ProviderGate();
  const now = options.now ?? Date.now;
  const adapters = new Map<string, ModelAdapter>();

  const targetOf = (name: string, entry: ProviderEntry): ProviderTarget => ({ name, entry, env, now });
  return {
    providers,
    resolve: (provider, name) => {
      const entry = own(providers, provider);
      const model = entry === undefined ? undefined : own(entry.models, name);
      if (entry === undefined || model === undefined) return undefined;
      const target = targetOf(provider, entry);
      const id = JSON.stringify([provider, name]);
      const adapter =
        adapters.get(id) ??
        gatedAdapter(adapterOf(target, model, options), gate, {
          key: gateKey(target),
          concurrency: entry.concurrency,
        });
      adapters.set(id, adapter);
      return { provider, name, entry, model, adapter, available: isAvailable(target) };
    },
    list: () =>
      Object.entries(providers).flatMap(([provider, entry]) =>
        Object.entries(entry.models).map(([model, { contextWindow, maxTokens, abilities, price }]) => ({
          provider,
          model,
          contextWindow,
          maxTokens,
          abilities,
          ...(price === undefined ? {} : { price }),
          available: isAvailable(targetOf(provider, entry)),
        })),
      ),
  };
}

function extended(builtIn: ProviderEntry | undefined, entry: ProviderEntry): ProviderEntry {
  if (builtIn?.wire !== entry.wire) return entry;
  return {
    ...builtIn,
    ...entry,
    headers: { ...builtIn.headers, ...entry.headers },
    models: { ...builtIn.models, ...entry.models },
  };
}

function adapterOf(target: ProviderTarget, model: ModelEntry, options: ModelCatalogOptions): ModelAdapter {
  switch (target.entry.wire) {
    case 'chat-completions':
      return createChatCompletionsAdapter(target, model, isDeepSeek(target));
    case 'messages':
      return createMessagesAdapter(target, model, isDeepSeek(target));
    case 'demo':
      return createDemoAdapter(
        options.demoWordDelayMs === undefined ? {} : { wordDelayMs: options.demoWordDelayMs },
      );
    default:
      return assertNever(target.entry.wire);
  }
}

/** DeepSeek spells its reasoning parameters in its own way; a proxy for it is known by the provider's name. */
function isDeepSeek({ name, entry }: ProviderTarget): boolean {
  const host = entry.baseUrl === undefined ? '' : new URL(entry.baseUrl).hostname;
  return /deepseek/i.test(name) || /(?:^|\.)deepseek\.com$/i.test(host);
}

/** Providers that share a host and a key share their rate limit, whatever they are called. */
function gateKey({ name, entry }: ProviderTarget): string {
  if (entry.baseUrl === undefined) return name;
  return `${new URL(entry.baseUrl).host} ${entry.apiKeyEnv ?? ''}`;
}

function own<T>(values: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
