/** The adapter of the chat completions wire: serialises, posts and translates. */
import type { ModelEntry } from '../../contract/configuration.js';
import type { ModelAdapter } from '../model-adapter.js';
import { streamModelCall } from '../model-call.js';
import { apiKey, endpoint, failureContext, requestHeaders, type ProviderTarget } from '../provider-target.js';
import { serializeChatCompletions, type ChatCompletionsDefaults } from './serialize.js';
import { ChatCompletionsTranslator } from './translate.js';

/** @param deepseek whether the provider spells reasoning as DeepSeek does. */
export function createChatCompletionsAdapter(
  target: ProviderTarget,
  model: ModelEntry,
  deepseek: boolean,
): ModelAdapter {
  const adapterDefaults: ChatCompletionsDefaults = {
    tools: model.abilities.tools,
    images: model.abilities.images,
    files: model.abilities.files,
    maxTokens: model.maxTokens,
    reasoningContent: model.abilities.reasoning,
    thinkingSwitch: deepseek,
  };
  return {
    wire: 'chat-completions',
    adapterDefaults,
    stream: async function* (request, { signal, readBlob }) {
      const key = apiKey(target);
      const url = endpoint(target, '/chat/completions');
      const body = await serializeChatCompletions(request, adapterDefaults, readBlob);
      const context = failureContext(target, key);
      const headers = requestHeaders(target, key === undefined ? {} : { authorization: `Bearer ${key}` });
      const translator = new ChatCompletionsTranslator({ price: model.price, context });
      const { timeouts } = target.entry;
      yield* streamModelCall({ request: { url, headers, body }, translator, timeouts, context }, signal);
    },
  };
}
