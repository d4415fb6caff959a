/**
 * The events of a Messages stream as chunks (WIRES 2).
 *
 * Owns when an answer is complete. Events and blocks of types that are not known are skipped.
 */
import type { FinishReason, ModelChunk } from '../../contract/chunks.js';
import type { Price } from '../../contract/configuration.js';
import { assertNever } from '../../contract/failures.js';
import type { Usage } from '../../contract/usage.js';
import { BlockWriter, type BlockKind } from '../block-writer.js';
import { classifyStreamError, type FailureContext } from '../failure-classifier.js';
import { ModelFailure } from '../model-failure.js';
import type { ServerSentEvent } from '../sse.js';
import type { StreamTranslator } from '../stream-translator.js';
import {
  MESSAGES_EVENT_SCHEMAS,
  messagesEventSchema,
  type BlockDelta,
  type ContentBlock,
  type MessagesEvent,
} from './events.js';
import { redactedReplay, signatureReplay } from './reasoning-replay.js';
import { mergedUsage, usageOf, type MessagesUsage } from './usage.js';

/** A block of the stream; `block` is its index among the chunks. */
interface OpenBlock {
  readonly kind: BlockKind;
  readonly block: number;
  signature: string;
  redacted: string;
  /** Input that came whole with the start; it counts only where no fragments follow. */
  wholeInput: string;
}

export interface MessagesTranslatorOptions {
  readonly price: Price | undefined;
  readonly context: FailureContext;
}

export class MessagesTranslator implements StreamTranslator {
  readonly #options: MessagesTranslatorOptions;
  readonly #writer = new BlockWriter();
  /** By the provider's index; null stands for a block of an unknown type. */
  readonly #blocks = new Map<number, OpenBlock | null>();
  #hasText = false;
  #calls = 0;
  #unnamedCall = false;
  #stopReason: string | undefined;
  #rawUsage: MessagesUsage | undefined;
  #done = false;

  constructor(options: MessagesTranslatorOptions) {
    this.#options = options;
  }

  get done(): boolean {
    return this.#done;
  }

  get usage(): Usage | undefined {
    return this.#rawUsage === undefined ? undefined : usageOf(this.#rawUsage, this.#options.price);
  }

  push(event: ServerSentEvent): readonly ModelChunk[] {
    if (this.#done || event.data.trim() === '') return [];
    const parsed = this.#parsed(event);
    if (parsed !== undefined) this.#take(parsed);
    return this.#writer.take();
  }

  end(): readonly ModelChunk[] {
    if (this.#done) return [];
    throw this.#closed();
  }

  #parsed({ event, data }: ServerSentEvent): MessagesEvent | undefined {
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      if (event === 'error') throw classifyStreamError(data, this.#options.context);
      throw this.#malformed('an event that is no JSON');
    }
    const type: unknown =
      typeof value === 'object' && value !== null ? Reflect.get(value, 'type') : undefined;
    if (type === 'error' || event === 'error') throw classifyStreamError(value, this.#options.context);
    if (typeof type !== 'string') throw this.#malformed('an event without a type');
    if (!Object.hasOwn(MESSAGES_EVENT_SCHEMAS, type)) return undefined;
    const known = messagesEventSchema.safeParse(value);
    if (known.success) return known.data;
    throw this.#malformed(
      `an event ${type} of the wrong shape (at ${known.error.issues[0]?.path.join('.') ?? ''})`,
    );
  }

  #take(event: MessagesEvent): void {
    switch (event.type) {
      case 'message_start':
        this.#addUsage(event.message.usage);
        if (this.usage !== undefined) this.#writer.usage(this.usage);
        return;
      case 'content_block_start':
        this.#start(event.index, event.content_block);
        return;
      case 'content_block_delta':
        this.#delta(event.index, event.delta);
        return;
      case 'content_block_stop':
        this.#stop(event.index);
        return;
      case 'message_delta':
        this.#addUsage(event.usage);
        this.#stopReason = event.delta?.stop_reason ?? this.#stopReason;
        return;
      case 'message_stop':
        this.#finish();
        return;
      default:
        assertNever(event);
    }
  }

  #addUsage(usage: MessagesUsage | null | undefined): void {
    if (usage === null || usage === undefined) return;
    this.#rawUsage = mergedUsage(this.#rawUsage ?? {}, usage);
  }

  #start(index: number, start: ContentBlock): void {
    if (this.#blocks.has(index)) return;
    const kind = kindOf(start.type);
    const open = kind === undefined ? null : this.#opened(kind);
    this.#blocks.set(index, open);
    if (open === null) return;
    if (open.kind === 'tool-call') {
      this.#calls += 1;
      this.#unnamedCall ||= (start.name ?? '') === '';
      open.wholeInput = isEmptyInput(start.input) ? '' : JSON.stringify(start.input);
      this.#writer.call(open.block, {
        ...(start.id === null || start.id === undefined ? {} : { callId: start.id }),
        ...(start.name === null || start.name === undefined ? {} : { name: start.name }),
        argumentsDelta: '',
      });
      return;
    }
    open.signature = start.signature ?? '';
    open.redacted = start.data ?? '';
    this.#prose(open, start.text ?? start.thinking ?? '');
  }

  #opened(kind: BlockKind): OpenBlock {
    return { kind, block: this.#writer.open(kind), signature: '', redacted: '', wholeInput: '' };
  }

  #delta(index: number, delta: BlockDelta): void {
    const open = this.#blocks.get(index);
    if (open === null) return;
    if (open === undefined) throw this.#malformed('a delta of a block that was not started');
    switch (delta.type) {
      case 'text_delta':
        this.#prose(open, delta.text ?? '');
        return;
      case 'thinking_delta':
        this.#prose(open, delta.thinking ?? '');
        return;
      case 'signature_delta':
        open.signature += delta.signature ?? '';
        return;
      case 'input_json_delta':
        if ((delta.partial_json ?? '') !== '') open.wholeInput = '';
        if (open.kind === 'tool-call') {
          this.#writer.call(open.block, { argumentsDelta: delta.partial_json ?? '' });
        }
        return;
      default:
        // Citations and the like: nothing that a message keeps.
        return;
    }
  }

  #prose(open: OpenBlock, text: string): void {
    if (open.kind === 'tool-call') return;
    if (open.kind === 'text' && text.trim() !== '') this.#hasText = true;
    this.#writer.text(open.block, open.kind, text);
  }

  #stop(index: number): void {
    const open = this.#blocks.get(index);
    if (open === null || open === undefined) return;
    if (open.wholeInput !== '') this.#writer.call(open.block, { argumentsDelta: open.wholeInput });
    open.wholeInput = '';
    this.#writer.close(open.block, this.#replayOf(open));
  }

  #replayOf({ signature, redacted }: OpenBlock): string | undefined {
    const { provider } = this.#options.context;
    if (redacted !== '') return redactedReplay(provider, redacted);
    return signature === '' ? undefined : signatureReplay(provider, signature);
  }

  #finish(): void {
    if (this.#stopReason === undefined) throw this.#closed();
    for (const index of this.#blocks.keys()) this.#stop(index);
    this.#writer.finish(this.#reason(this.#stopReason), this.usage);
    this.#done = true;
  }

  #reason(stopReason: string): FinishReason {
    const { provider } = this.#options.context;
    switch (stopReason) {
      case 'end_turn':
      case 'stop_sequence':
      case 'tool_use':
        return this.#settledReason(stopReason);
      case 'max_tokens':
      case 'model_context_window_exceeded':
        return 'max-tokens';
      case 'refusal':
        throw new ModelFailure('CONTENT_FILTER', `${provider} refused to answer`);
      default:
        throw this.#malformed(`the unknown stop reason "${stopReason.slice(0, 100)}"`);
    }
  }

  #settledReason(stopReason: string): FinishReason {
    if (this.#calls > 0) {
      if (this.#unnamedCall) throw this.#malformed('a tool call without a name');
      return 'tool-calls';
    }
    if (stopReason === 'tool_use') throw this.#malformed('the stop reason tool_use without a call');
    if (this.#hasText) return 'stop';
    throw new ModelFailure(
      'EMPTY_RESPONSE',
      `${this.#options.context.provider} answered with neither text nor a tool call`,
    );
  }

  #closed(): ModelFailure {
    return new ModelFailure('STREAM_CLOSED', `${this.#options.context.provider} ended its answer too early`);
  }

  #malformed(what: string): ModelFailure {
    return new ModelFailure('MALFORMED_RESPONSE', `${this.#options.context.provider} sent ${what}`);
  }
}

function kindOf(type: string): BlockKind | undefined {
  switch (type) {
    case 'text':
      return 'text';
    case 'thinking':
    case 'redacted_thinking':
      return 'reasoning';
    case 'tool_use':
      return 'tool-call';
    default:
      return undefined;
  }
}

function isEmptyInput(input: unknown): boolean {
  return typeof input !== 'object' || input === null || Object.keys(input).length === 0;
}
