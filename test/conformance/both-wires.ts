/** One model behind the scripted server, on either wire, and a turn that is played through its adapter. */
import type { ModelChunk } from '../../src/contract/chunks.js';
import { providerEntrySchema } from '../../src/contract/configuration.js';
import type { AssistantBlock, InputBlock, ToolCallBlock } from '../../src/contract/content.js';
import type { CallId, Sha256 } from '../../src/contract/ids.js';
import type { Message, ModelRequest } from '../../src/contract/messages.js';
import { BlockAssembler } from '../../src/model/block-assembler.js';
import type { ModelAdapter, ReadBlob } from '../../src/model/model-adapter.js';
import { createModelCatalog } from '../../src/model/model-catalog.js';

export const WIRES = ['chat-completions', 'messages'] as const;
export type NetworkWire = (typeof WIRES)[number];

export const API_KEY = 'sk-conformance-key';

export interface ModelOptions {
  readonly silenceMs?: number;
  readonly stallMs?: number;
  readonly images?: boolean;
  readonly reasoning?: boolean;
  /** A name with "deepseek" in it gives the provider DeepSeek's spelling. */
  readonly provider?: string;
}

/** The adapter of a model whose provider listens at the URL. */
export function adapterAt(url: string, wire: NetworkWire, options: ModelOptions = {}): ModelAdapter {
  const provider = options.provider ?? 'local';
  const entry = providerEntrySchema.parse({
    wire,
    baseUrl: wire === 'messages' ? `${url}/v1/` : `${url}/v1`,
    apiKeyEnv: 'LOCAL_KEY',
    timeouts: { silenceMs: options.silenceMs ?? 5000, stallMs: options.stallMs ?? 5000 },
    models: {
      small: {
        price: { input: 1, output: 2 },
        abilities: { images: options.images ?? false, reasoning: options.reasoning ?? false },
      },
    },
  });
  const model = createModelCatalog({ [provider]: entry }, { LOCAL_KEY: API_KEY }).resolve(provider, 'small');
  if (model === undefined) throw new Error('The catalog does not know its own model');
  return model.adapter;
}

export const TOOLS = ['read', 'glob'].map((name) => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
}));

export function requestOf(messages: readonly Message[], rest: Partial<ModelRequest> = {}): ModelRequest {
  return { model: 'small', system: 'Be brief.', tools: TOOLS, parameters: {}, ...rest, messages };
}

export function says(text: string, seq = 1): Message {
  return { seq, role: 'user', content: [{ type: 'text', text }] };
}

/** Blobs by their digest; a missing one rejects. */
export function blobs(contents: Readonly<Record<string, Uint8Array | string>> = {}): ReadBlob {
  return async (sha256) => {
    const content = contents[sha256];
    if (content === undefined) throw new Error(`The blob ${sha256} is missing`);
    return typeof content === 'string' ? new TextEncoder().encode(content) : content;
  };
}

export const digest = (character: string): Sha256 => character.repeat(64) as Sha256;

export interface Attempt {
  readonly chunks: readonly ModelChunk[];
  readonly content: AssistantBlock[];
  readonly assembler: BlockAssembler;
}

/** One attempt, read to its end. */
export async function attempt(
  adapter: ModelAdapter,
  request: ModelRequest,
  options: { readonly signal?: AbortSignal; readonly readBlob?: ReadBlob } = {},
): Promise<Attempt> {
  const used = new Set(request.messages.flatMap(callsOf).map(({ callId }) => callId));
  let made = used.size;
  const assembler = new BlockAssembler({
    usedCallIds: (id) => used.has(id as CallId),
    makeCallId: () => `made_${String(++made)}` as CallId,
  });
  const chunks: ModelChunk[] = [];
  const signal = options.signal ?? new AbortController().signal;
  for await (const chunk of adapter.stream(request, { signal, readBlob: options.readBlob ?? blobs() })) {
    chunks.push(chunk);
    assembler.add(chunk);
  }
  return { chunks, content: assembler.completeContent(assembler.finish ?? 'aborted'), assembler };
}

export function callsOf(message: Message): ToolCallBlock[] {
  if (message.role !== 'assistant') return [];
  return message.content.flatMap((block) => (block.type === 'tool-call' ? [block] : []));
}

/** Plays a turn to its end: every call gets what `run` gives for it. Returns the whole conversation. */
export async function playTurn(
  adapter: ModelAdapter,
  prompt: readonly Message[],
  run: (call: ToolCallBlock) => InputBlock[],
  rest: Partial<ModelRequest> = {},
): Promise<Message[]> {
  const messages = [...prompt];
  for (;;) {
    const { content, assembler } = await attempt(adapter, requestOf(messages, rest));
    const answer: Message = { seq: messages.length + 1, role: 'assistant', content };
    messages.push(answer);
    if (assembler.finish !== 'tool-calls') return messages;
    for (const call of callsOf(answer)) {
      messages.push({
        seq: messages.length + 1,
        role: 'user',
        content: [{ type: 'tool-result', callId: call.callId, content: run(call), isError: false }],
      });
    }
  }
}

/** What the iteration of a stream throws; undefined where it ends well. */
export async function failureOf(reading: Promise<unknown>): Promise<unknown> {
  try {
    await reading;
    return undefined;
  } catch (error) {
    return error;
  }
}
