/**
 * A model request as the body of `POST /chat/completions` (WIRES 1).
 *
 * Owns the bytes: keys stand in a fixed order and nothing but the arguments decides them, so that the body of a past
 * step can be made again and a provider's prompt cache finds its prefix.
 */
import { z } from 'zod';
import type { ModelRequest } from '../../contract/messages.js';
import type { AdapterDefaults, ReadBlob } from '../model-adapter.js';
import {
  prepareMessages,
  textOf,
  wellFormedJson,
  type PreparedInput,
  type PreparedMessage,
} from '../prepared-messages.js';

/** What the wire's adapter adds to a request (see {@link AdapterDefaults}). */
export const chatCompletionsDefaultsSchema = z.object({
  /** Whether tools are offered at all. */
  tools: z.boolean().default(true),
  images: z.boolean().default(false),
  files: z.boolean().default(false),
  /** The most that `max_tokens` may ask for; it is sent only where the request sets one. */
  maxTokens: z.number().int().positive(),
  /**
   * Whether assistant messages carry `reasoning_content`, empty where there was none. DeepSeek answers 400 without it
   * once tools are offered, and ignores it otherwise (api-docs.deepseek.com/guides/thinking_mode).
   */
  reasoningContent: z.boolean().default(false),
  /** Whether thinking is switched by `thinking: {type}` beside `reasoning_effort`, as DeepSeek has it. */
  thinkingSwitch: z.boolean().default(false),
});
export type ChatCompletionsDefaults = z.infer<typeof chatCompletionsDefaultsSchema>;

const NO_OUTPUT = '(no output)';
/** The effort that means no thinking at all. */
const NO_REASONING = 'none';

type Json = Record<string, unknown>;

/** The JSON body of the request. @throws what `readBlob` throws. */
export async function serializeChatCompletions(
  request: ModelRequest,
  adapterDefaults: AdapterDefaults,
  readBlob: ReadBlob,
): Promise<string> {
  const defaults = chatCompletionsDefaultsSchema.parse(adapterDefaults);
  const { parameters } = request;
  const messages = await prepareMessages(request.messages, defaults, readBlob);
  const reasoning = defaults.reasoningContent && parameters.reasoningEffort !== NO_REASONING;
  return wellFormedJson({
    model: request.model,
    messages: [
      ...(request.system === '' ? [] : [{ role: 'system', content: request.system }]),
      ...messages.flatMap((message) => wireMessages(message, reasoning)),
    ],
    stream: true,
    stream_options: { include_usage: true },
    ...(defaults.tools && request.tools.length > 0 ? { tools: request.tools.map(tool) } : {}),
    ...(parameters.temperature === undefined ? {} : { temperature: parameters.temperature }),
    ...(parameters.maxTokens === undefined
      ? {}
      : { max_tokens: Math.min(parameters.maxTokens, defaults.maxTokens) }),
    ...(parameters.stop === undefined || parameters.stop.length === 0 ? {} : { stop: parameters.stop }),
    ...effort(parameters.reasoningEffort, defaults.thinkingSwitch),
  });
}

function tool({ name, description, parameters }: ModelRequest['tools'][number]): Json {
  return { type: 'function', function: { name, description, parameters } };
}

function effort(reasoningEffort: string | undefined, thinkingSwitch: boolean): Json {
  if (reasoningEffort === undefined) return {};
  if (!thinkingSwitch) return { reasoning_effort: reasoningEffort };
  return reasoningEffort === NO_REASONING
    ? { thinking: { type: 'disabled' } }
    : { reasoning_effort: reasoningEffort, thinking: { type: 'enabled' } };
}

function wireMessages(message: PreparedMessage, reasoning: boolean): Json[] {
  return message.role === 'assistant' ? [assistantMessage(message, reasoning)] : userMessages(message);
}

function assistantMessage(
  { blocks }: Extract<PreparedMessage, { role: 'assistant' }>,
  reasoning: boolean,
): Json {
  const calls = blocks.filter((block) => block.type === 'tool-call');
  return {
    role: 'assistant',
    content: joined(blocks, 'text'),
    ...(reasoning ? { reasoning_content: joined(blocks, 'reasoning') } : {}),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            id: call.callId,
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
          })),
        }),
  };
}

function joined(
  blocks: Extract<PreparedMessage, { role: 'assistant' }>['blocks'],
  type: 'text' | 'reasoning',
): string {
  return blocks.flatMap((block) => (block.type === type ? [block.text] : [])).join('');
}

function userMessages({ results, messages }: Extract<PreparedMessage, { role: 'user' }>): Json[] {
  const toolMessages = results.map(({ callId, content }) => {
    const text = textOf(content, '\n');
    return { role: 'tool', tool_call_id: callId, content: text === '' ? NO_OUTPUT : text };
  });
  // A tool message takes text only, so what a tool showed beside it follows in a user message.
  const shown = results.flatMap(({ content }) => content.filter((part) => part.type !== 'text'));
  const said =
    shown.length === 0
      ? messages
      : [[{ type: 'text', text: 'From the tool results:' }, ...shown] as const, ...messages];
  return [...toolMessages, ...said.map((content) => ({ role: 'user', content: userContent(content) }))];
}

function userContent(content: readonly PreparedInput[]): string | Json[] {
  if (content.every((part) => part.type === 'text')) return textOf(content, '\n\n');
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text };
      case 'image':
        return { type: 'image_url', image_url: { url: dataUrl(part) } };
      case 'document':
        return { type: 'file', file: { filename: part.name, file_data: dataUrl(part) } };
    }
  });
}

function dataUrl({ mediaType, base64 }: { readonly mediaType: string; readonly base64: string }): string {
  return `data:${mediaType};base64,${base64}`;
}
