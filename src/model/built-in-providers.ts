/**
 * The providers that are there without a configuration.
 *
 * Model facts and prices: api-docs.deepseek.com/quick_start/pricing and /guides/thinking_mode, read in mid 2026.
 */
import { providerEntrySchema, type ProviderEntry } from '../contract/configuration.js';

/** The provider that needs neither a key nor a network. */
export const DEMO_PROVIDER = 'demo';
export const DEMO_MODEL = 'demo';
/** The model of the built-in DeepSeek providers where none is chosen. */
export const DEEPSEEK_DEFAULT_MODEL = 'deepseek-v4-flash';

const DEEPSEEK_KEY_ENV = 'DEEPSEEK_API_KEY';
const DEEPSEEK_MODEL = {
  contextWindow: 1_000_000,
  maxTokens: 384_000,
  // Both models take text only and think unless told otherwise.
  abilities: { reasoning: true },
};
const DEEPSEEK_MODELS = {
  [DEEPSEEK_DEFAULT_MODEL]: {
    ...DEEPSEEK_MODEL,
    price: { input: 0.14, output: 0.28, cacheRead: 0.0028 },
  },
  'deepseek-v4-pro': {
    ...DEEPSEEK_MODEL,
    price: { input: 0.435, output: 0.87, cacheRead: 0.003625 },
  },
};

/**
 * Provider entries by name. `openai-compatible` and `anthropic-compatible` get their address and models from the
 * configuration.
 */
export const BUILT_IN_PROVIDERS: Readonly<Record<string, ProviderEntry>> = {
  deepseek: providerEntrySchema.parse({
    wire: 'chat-completions',
    baseUrl: 'https://api.deepseek.com',
    apiKeyEnv: DEEPSEEK_KEY_ENV,
    models: DEEPSEEK_MODELS,
  }),
  'deepseek-messages': providerEntrySchema.parse({
    wire: 'messages',
    baseUrl: 'https://api.deepseek.com/anthropic',
    apiKeyEnv: DEEPSEEK_KEY_ENV,
    models: DEEPSEEK_MODELS,
  }),
  'openai-compatible': providerEntrySchema.parse({ wire: 'chat-completions' }),
  'anthropic-compatible': providerEntrySchema.parse({ wire: 'messages' }),
  [DEMO_PROVIDER]: providerEntrySchema.parse({
    wire: 'demo',
    models: { [DEMO_MODEL]: { price: { input: 0, output: 0 } } },
  }),
};
