/**
 * A model request as the body of `POST /v1/messages` (WIRES 2).
 *
 * Owns the bytes: keys stand in a fixed order and nothing but the arguments decides them.
 */
import { z } from 'zod';
import type { ModelRequest } from '../../contract/messages.js';
import type { AdapterDefaults, ReadBlob } from '../model-adapter.js';
import {
  prepareMessages,
  textOf,
  wellFormedJson,
  type PreparedBlock,
  type PreparedInput,
  type PreparedMessage,
  type PreparedResult,
} from '../prepared-messages.js';
import { replayedThinking } from './reasoning-replay.js';

/** What the wire's adapter adds to a request (see {@link AdapterDefaults}). */
export const messagesDefaultsSchema = z.object({
  /** Whether tools are offered at all. */
  tools: z.boolean().default(true),
  images: z.boolean().default(false),
  files: z.boolean().default(false),
  /** The most that `max_tokens` may ask for. */
  maxTokens: z.number().int().positive(),
  /** The provider whose signatures go back to it. */
  provider: z.string(),
  /**
   * Whether reasoning is sent back without a signature too, and an empty one before calls that have none: DeepSeek
   * answers 400 to calls without it while it thinks.
   */
  unsignedThinking: z.boolean().default(false),
  /** How an effort is spelled: as a budget of tokens, or as `output_config.effort` (DeepSeek). */
  effort: z.enum(['budget', 'output-config']).default('budget'),
});
export type MessagesDefaults = z.infer<typeof messagesDefaultsSchema>;

/** The wire wants a `max_tokens`; this much is asked for where the request sets none and the model can do it. */
const DEFAULT_MAX_TOKENS = 32_000;
const NO_OUTPUT = '(no output)';
/** The effort that means no thinking at all. */
const NO_REASONING = 'none';
const MIN_BUDGET_TOKENS = 1024;
const BUDGET_TOKENS: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};

type Json = Record<string, unknown>;
interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Json[];
}

/** The JSON body of the request. @throws what `readBlob` throws. */
export async function serializeMessages(
  request: ModelRequest,
  adapterDefaults: AdapterDefaults,
  readBlob: ReadBlob,
): Promise<string> {
  const defaults = messagesDefaultsSchema.parse(adapterDefaults);
  const { parameters } = request;
  const maxTokens = Math.min(parameters.maxTokens ?? DEFAULT_MAX_TOKENS, defaults.maxTokens);
  const thinking = thinkingOf(parameters.reasoningEffort, maxTokens, defaults);
  const thinks = parameters.reasoningEffort !== NO_REASONING;
  const prepared = await prepareMessages(request.messages, defaults, readBlob);
  // A temperature beside thinking is refused.
  const temperature = thinking.enabled ? undefined : parameters.temperature;
  return wellFormedJson({
    model: request.model,
    max_tokens: maxTokens,
    ...(request.system === '' ? {} : { system: request.system }),
    messages: alternating(prepared.map((message) => wireMessage(message, defaults, thinks))),
    stream: true,
    ...(defaults.tools && request.tools.length > 0 ? { tools: request.tools.map(tool) } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(parameters.stop === undefined || parameters.stop.length === 0
      ? {}
      : { stop_sequences: parameters.stop }),
    ...thinking.fields,
  });
}

function tool({ name, description, parameters }: ModelRequest['tools'][number]): Json {
  return { name, description, input_schema: parameters };
}

function thinkingOf(
  effort: string | undefined,
  maxTokens: number,
  defaults: MessagesDefaults,
): { readonly enabled: boolean; readonly fields: Json } {
  if (effort === undefined) return { enabled: false, fields: {} };
  if (effort === NO_REASONING) return { enabled: false, fields: { thinking: { type: 'disabled' } } };
  if (defaults.effort === 'output-config') {
    return { enabled: true, fields: { thinking: { type: 'enabled' }, output_config: { effort } } };
  }
  // A budget has to be smaller than max_tokens; where it cannot be, the model answers without thinking.
  if (maxTokens <= MIN_BUDGET_TOKENS) return { enabled: false, fields: {} };
  const wanted = BUDGET_TOKENS[effort] ?? BUDGET_TOKENS['medium'] ?? MIN_BUDGET_TOKENS;
  const budget = Math.min(wanted, Math.max(MIN_BUDGET_TOKENS, maxTokens - MIN_BUDGET_TOKENS));
  return { enabled: true, fields: { thinking: { type: 'enabled', budget_tokens: budget } } };
}

function wireMessage(message: PreparedMessage, defaults: MessagesDefaults, thinks: boolean): WireMessage {
  if (message.role === 'assistant') {
    return { role: 'assistant', content: assistantBlocks(message.blocks, defaults, thinks) };
  }
  return {
    role: 'user',
    content: [...message.results.map(toolResult), ...message.messages.flat().map(userBlock)],
  };
}

function assistantBlocks(
  blocks: readonly PreparedBlock[],
  defaults: MessagesDefaults,
  thinks: boolean,
): Json[] {
  const content = blocks.flatMap((block): Json[] => {
    switch (block.type) {
      case 'text':
        return [{ type: 'text', text: block.text }];
      case 'reasoning': {
        const thinking = replayedThinking(block, defaults.provider, defaults.unsignedThinking);
        return thinks && thinking !== undefined ? [thinking] : [];
      }
      case 'tool-call':
        return [
          {
            type: 'tool_use',
            id: block.callId,
            name: block.name,
            input: JSON.parse(block.arguments) as Json,
          },
        ];
    }
  });
  const calls = blocks.some((block) => block.type === 'tool-call');
  const lacksThinking = !content.some(({ type }) => type === 'thinking' || type === 'redacted_thinking');
  return defaults.unsignedThinking && thinks && calls && lacksThinking
    ? [{ type: 'thinking', thinking: '', signature: '' }, ...content]
    : content;
}

function toolResult({ callId, content, isError }: PreparedResult): Json {
  const onlyText = content.every((part) => part.type === 'text');
  const text = textOf(content, '\n');
  return {
    type: 'tool_result',
    tool_use_id: callId,
    content: onlyText ? (text === '' ? NO_OUTPUT : text) : content.map(userBlock),
    ...(isError ? { is_error: true } : {}),
  };
}

function userBlock(part: PreparedInput): Json {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.base64 } };
    case 'document':
      return {
        type: 'document',
        source: { type: 'base64', media_type: part.mediaType, data: part.base64 },
        title: part.name,
      };
  }
}

/** Joins neighbours of one role, which stand there after an answer that was left out or followed by another. */
function alternating(messages: readonly WireMessage[]): WireMessage[] {
  const joined: WireMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === message.role) last.content.push(...message.content);
    else joined.push(message);
  }
  return joined;
}
