/**
 * The events of a chat completions stream as chunks (WIRES 1).
 *
 * Owns when an answer is complete. Checks each event's shape, since it comes from outside.
 */
import { z } from 'zod';
import type { FinishReason, ModelChunk } from '../../contract/chunks.js';
import type { Price } from '../../contract/configuration.js';
import type { Usage } from '../../contract/usage.js';
import { BlockWriter } from '../block-writer.js';
import { classifyStreamError, type FailureContext } from '../failure-classifier.js';
import { ModelFailure } from '../model-failure.js';
import type { ServerSentEvent } from '../sse.js';
import type { StreamTranslator } from '../stream-translator.js';
import { ToolCallJoiner } from './tool-call-joiner.js';
import { chatUsageSchema, usageOf } from './usage.js';

const fragmentSchema = z.object({
  index: z.number().int().nullish(),
  id: z.string().nullish(),
  function: z
    .object({
      name: z.string().nullish(),
      // Some servers send the arguments parsed.
      arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
    })
    .nullish(),
});
const deltaSchema = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  // The same under the name that vLLM, Ollama and OpenRouter give it.
  reasoning: z.string().nullish(),
  tool_calls: z.array(fragmentSchema).nullish(),
});
const choiceSchema = z.object({
  index: z.number().int().nullish(),
  delta: deltaSchema.nullish(),
  finish_reason: z.string().nullish(),
});
const chunkSchema = z.object({
  choices: z.array(choiceSchema).nullish(),
  usage: chatUsageSchema.nullish(),
});
type Delta = z.infer<typeof deltaSchema>;

const DONE = '[DONE]';

export interface TranslatorOptions {
  readonly price: Price | undefined;
  readonly context: FailureContext;
}

export class ChatCompletionsTranslator implements StreamTranslator {
  readonly #options: TranslatorOptions;
  readonly #writer = new BlockWriter();
  readonly #calls = new ToolCallJoiner(this.#writer);
  #prose: { readonly index: number; readonly block: 'text' | 'reasoning' } | undefined;
  #hasText = false;
  #finish: string | undefined;
  #usage: Usage | undefined;
  #done = false;

  constructor(options: TranslatorOptions) {
    this.#options = options;
  }

  get done(): boolean {
    return this.#done;
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  push(event: ServerSentEvent): readonly ModelChunk[] {
    const data = event.data.trim();
    if (this.#done || data === '') return [];
    if (data === DONE) return this.end();
    const chunk = this.#parsed(data, event.event === 'error');
    if (chunk.usage !== null && chunk.usage !== undefined) {
      this.#usage = usageOf(chunk.usage, this.#options.price);
    }
    for (const choice of chunk.choices ?? []) {
      // Only one answer is asked for.
      if ((choice.index ?? 0) !== 0) continue;
      if (choice.delta !== null && choice.delta !== undefined) this.#delta(choice.delta);
      if (
        choice.finish_reason !== null &&
        choice.finish_reason !== undefined &&
        choice.finish_reason !== ''
      ) {
        this.#finish = choice.finish_reason;
      }
    }
    return this.#writer.take();
  }

  end(): readonly ModelChunk[] {
    if (this.#done) return [];
    if (this.#finish === undefined) {
      throw new ModelFailure('STREAM_CLOSED', `${this.#options.context.provider} ended its answer too early`);
    }
    this.#writer.finish(this.#reason(this.#finish), this.#usage);
    this.#done = true;
    return this.#writer.take();
  }

  #parsed(data: string, isError: boolean): z.infer<typeof chunkSchema> {
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      if (isError) throw classifyStreamError(data, this.#options.context);
      throw this.#malformed('an event that is no JSON');
    }
    if (isError || isErrorObject(value)) throw classifyStreamError(value, this.#options.context);
    const chunk = chunkSchema.safeParse(value);
    if (chunk.success) return chunk.data;
    const place = chunk.error.issues[0]?.path.join('.') ?? '';
    throw this.#malformed(`an event of the wrong shape${place === '' ? '' : ` (at ${place})`}`);
  }

  #delta({ content, reasoning_content, reasoning, tool_calls }: Delta): void {
    this.#addProse('reasoning', reasoning_content ?? reasoning ?? '');
    this.#addProse('text', content ?? '');
    for (const { index, id, function: called } of tool_calls ?? []) {
      this.#closeProse();
      const raw = called?.arguments ?? '';
      this.#calls.add({
        index,
        id,
        name: called?.name,
        arguments: typeof raw === 'string' ? raw : JSON.stringify(raw),
      });
    }
  }

  #addProse(block: 'text' | 'reasoning', text: string): void {
    if (text === '') return;
    if (this.#prose?.block !== block) {
      this.#closeProse();
      this.#prose = { index: this.#writer.open(block), block };
    }
    if (block === 'text' && text.trim() !== '') this.#hasText = true;
    this.#writer.text(this.#prose.index, block, text);
  }

  #closeProse(): void {
    if (this.#prose !== undefined) this.#writer.close(this.#prose.index);
    this.#prose = undefined;
  }

  #reason(finish: string): FinishReason {
    const { provider } = this.#options.context;
    switch (finish) {
      case 'stop':
      case 'tool_calls':
      case 'function_call':
        return this.#settledReason(finish);
      case 'length':
        return 'max-tokens';
      case 'content_filter':
        throw new ModelFailure('CONTENT_FILTER', `${provider} stopped the answer by its content filter`);
      case 'insufficient_system_resource':
        throw new ModelFailure('SERVER', `${provider} ran out of resources inside of its answer`);
      default:
        throw this.#malformed(`the unknown finish reason "${finish.slice(0, 100)}"`);
    }
  }

  #settledReason(finish: string): FinishReason {
    if (this.#calls.count > 0) {
      if (!this.#calls.allNamed) throw this.#malformed('a tool call without a name');
      return 'tool-calls';
    }
    if (finish !== 'stop') throw this.#malformed(`the finish reason ${finish} without a call`);
    if (this.#hasText) return 'stop';
    throw new ModelFailure(
      'EMPTY_RESPONSE',
      `${this.#options.context.provider} answered with neither text nor a tool call`,
    );
  }

  #malformed(what: string): ModelFailure {
    return new ModelFailure('MALFORMED_RESPONSE', `${this.#options.context.provider} sent ${what}`);
  }
}

function isErrorObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const error: unknown = Reflect.get(value, 'error');
  return (error !== undefined && error !== null) || Reflect.get(value, 'object') === 'error';
}
