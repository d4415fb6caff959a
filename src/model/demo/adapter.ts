/**
 * The demo provider: streams its replies as a real one does, word by word, without a network.
 *
 * What it says is decided in `reply.ts`; this is only its delivery.
 */
import type { ModelChunk } from '../../contract/chunks.js';
import type { Usage } from '../../contract/usage.js';
import { abortableWait } from '../abortable-wait.js';
import { BlockWriter } from '../block-writer.js';
import type { ModelAdapter } from '../model-adapter.js';
import { demoReply, type DemoReply } from './reply.js';

const DEFAULT_WORD_DELAY_MS = 6;
const ARGUMENT_FRAGMENT_CHARACTERS = 12;
/** A rough measure of a token, so that usage shows plausible numbers. */
const CHARACTERS_PER_TOKEN = 4;

/** @param options.wordDelayMs how long to wait before each word, in milliseconds; 0 waits not at all. */
export function createDemoAdapter(options: { readonly wordDelayMs?: number } = {}): ModelAdapter {
  const delayMs = options.wordDelayMs ?? DEFAULT_WORD_DELAY_MS;
  return {
    wire: 'demo',
    adapterDefaults: {},
    stream: async function* (request, { signal }) {
      const said = JSON.stringify([request.system, request.messages, request.tools]).length;
      for (const chunk of chunksOf(demoReply(request), Math.ceil(said / CHARACTERS_PER_TOKEN))) {
        if (delayMs > 0 && chunk.type.endsWith('-delta')) await abortableWait(delayMs, signal);
        signal.throwIfAborted();
        yield chunk;
      }
    },
  };
}

function* chunksOf({ text, calls }: DemoReply, inputTokens: number): Generator<ModelChunk> {
  const writer = new BlockWriter();
  if (text !== '') {
    const index = writer.open('text');
    for (const word of text.match(/\s*\S+\s*/g) ?? []) writer.text(index, 'text', word);
    writer.close(index);
  }
  for (const { callId, name, arguments: input } of calls) {
    const index = writer.open('tool-call');
    writer.call(index, { callId, name, argumentsDelta: '' });
    for (let start = 0; start < input.length; start += ARGUMENT_FRAGMENT_CHARACTERS) {
      writer.call(index, { argumentsDelta: input.slice(start, start + ARGUMENT_FRAGMENT_CHARACTERS) });
    }
    writer.close(index);
  }
  const written = text.length + calls.reduce((sum, call) => sum + call.arguments.length, 0);
  const usage: Usage = {
    inputTokens,
    outputTokens: Math.ceil(written / CHARACTERS_PER_TOKEN),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costUsd: 0,
  };
  writer.finish(calls.length > 0 ? 'tool-calls' : 'stop', usage);
  yield* writer.take();
}
