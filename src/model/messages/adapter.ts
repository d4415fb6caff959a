/** The adapter of the Messages wire: serialises, posts and translates. */
import type { ModelEntry } from '../../contract/configuration.js';
import type { ModelAdapter } from '../model-adapter.js';
import { streamModelCall } from '../model-call.js';
import { apiKey, endpoint, failureContext, requestHeaders, type ProviderTarget } from '../provider-target.js';
import { serializeMessages, type MessagesDefaults } from './serialize.js';
import { MessagesTranslator } from './translate.js';

/** The version of the API, which the wire wants in each request. */
const ANTHROPIC_VERSION = '2023-06-01';

/** @param deepseek whether the provider spells and takes back reasoning as DeepSeek does. */
export function createMessagesAdapter(
  target: ProviderTarget,
  model: ModelEntry,
  deepseek: boolean,
): ModelAdapter {
  const adapterDefaults: MessagesDefaults = {
    tools: model.abilities.tools,
    images: model.abilities.images,
    files: model.abilities.files,
    maxTokens: model.maxTokens,
    provider: target.name,
    unsignedThinking: deepseek && model.abilities.reasoning,
    effort: deepseek ? 'output-config' : 'budget',
  };
  return {
    wire: 'messages',
    adapterDefaults,
    stream: async function* (request, { signal, readBlob }) {
      const key = apiKey(target);
      const url = endpoint(target, '/v1/messages');
      const body = await serializeMessages(request, adapterDefaults, readBlob);
      const context = failureContext(target, key);
      const headers = requestHeaders(target, {
        'anthropic-version': ANTHROPIC_VERSION,
        ...(key === undefined ? {} : { 'x-api-key': key }),
      });
      const translator = new MessagesTranslator({ price: model.price, context });
      const { timeouts } = target.entry;
      yield* streamModelCall({ request: { url, headers, body }, translator, timeouts, context }, signal);
    },
  };
}
