/**
 * Puts the chunks of one attempt together to the blocks of its message.
 *
 * Owns what a complete, a truncated and an interrupted answer leave behind, and that each call has an id of its own.
 * Publishing the chunks and storing the message is up to the caller.
 */
import type { FinishReason, ModelChunk } from '../contract/chunks.js';
import type { AssistantBlock } from '../contract/content.js';
import { assertNever } from '../contract/failures.js';
import type { CallId } from '../contract/ids.js';
import type { Usage } from '../contract/usage.js';

export interface BlockAssemblerOptions {
  /** Whether the session has a call of this id already. */
  readonly usedCallIds: (id: string) => boolean;
  /** Makes an id that is not used yet, in the place of an empty or repeated one. */
  readonly makeCallId: () => CallId;
}

interface Prose {
  readonly type: 'text' | 'reasoning';
  text: string;
  replay?: string;
  closed: boolean;
}
interface Call {
  readonly type: 'tool-call';
  callId: CallId | undefined;
  name: string;
  arguments: string;
  closed: boolean;
}

export class BlockAssembler {
  readonly #options: BlockAssemblerOptions;
  readonly #blocks = new Map<number, Prose | Call>();
  readonly #callIds = new Set<string>();
  #visibleCharacters = 0;
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;

  constructor(options: BlockAssemblerOptions) {
    this.#options = options;
  }

  /** The characters of text and reasoning that were shown so far. */
  get visibleCharacters(): number {
    return this.#visibleCharacters;
  }

  /** The last usage that came. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** Why the answer ended; undefined while it runs. */
  get finish(): FinishReason | undefined {
    return this.#finish;
  }

  /**
   * Takes a chunk and returns what to publish for it: call ids are replaced where they have to be, and what comes after
   * a block's first close or after `finish` is dropped.
   */
  add(chunk: ModelChunk): readonly ModelChunk[] {
    if (this.#finish !== undefined) return [];
    switch (chunk.type) {
      case 'block-start':
        return this.#start(chunk);
      case 'text-delta':
      case 'reasoning-delta':
        return this.#prose(chunk);
      case 'tool-call-delta':
        return this.#call(chunk);
      case 'block-end':
        return this.#end(chunk);
      case 'usage':
        this.#usage = chunk.usage;
        return [chunk];
      case 'finish':
        this.#finish = chunk.reason;
        return [chunk];
      default:
        return assertNever(chunk);
    }
  }

  /** The blocks of an answer that ended so; `max-tokens` drops its calls, since the last may be cut. */
  completeContent(finish: FinishReason): AssistantBlock[] {
    if (finish === 'max-tokens' || finish === 'aborted') return this.interruptedContent();
    return this.#content((block) => block);
  }

  /** What an interrupted answer leaves: its text and reasoning, and no calls. */
  interruptedContent(): AssistantBlock[] {
    return this.#content((block) => (block.type === 'tool-call' ? undefined : block));
  }

  #start(chunk: Extract<ModelChunk, { type: 'block-start' }>): readonly ModelChunk[] {
    if (this.#blocks.has(chunk.index)) return [];
    this.#blocks.set(
      chunk.index,
      chunk.block === 'tool-call'
        ? { type: 'tool-call', callId: undefined, name: '', arguments: '', closed: false }
        : { type: chunk.block, text: '', closed: false },
    );
    return [chunk];
  }

  #prose(chunk: Extract<ModelChunk, { type: 'text-delta' | 'reasoning-delta' }>): readonly ModelChunk[] {
    const block = this.#blocks.get(chunk.index);
    if (block === undefined || block.type === 'tool-call' || block.closed) return [];
    block.text += chunk.text;
    this.#visibleCharacters += chunk.text.length;
    return [chunk];
  }

  #call(chunk: Extract<ModelChunk, { type: 'tool-call-delta' }>): readonly ModelChunk[] {
    const block = this.#blocks.get(chunk.index);
    if (block?.type !== 'tool-call' || block.closed) return [];
    const { callId, ...rest } = chunk;
    block.arguments += chunk.argumentsDelta;
    if (block.name === '') block.name = chunk.name ?? '';
    if (callId === undefined || block.callId !== undefined) return [rest];
    block.callId = this.#ownCallId(callId);
    return [{ ...rest, callId: block.callId }];
  }

  #end(chunk: Extract<ModelChunk, { type: 'block-end' }>): readonly ModelChunk[] {
    const block = this.#blocks.get(chunk.index);
    if (block === undefined || block.closed) return [];
    block.closed = true;
    if (block.type !== 'tool-call') {
      if (chunk.replay !== undefined) block.replay = chunk.replay;
      return [chunk];
    }
    if (block.callId !== undefined) return [chunk];
    block.callId = this.#ownCallId('');
    return [{ type: 'tool-call-delta', index: chunk.index, callId: block.callId, argumentsDelta: '' }, chunk];
  }

  #ownCallId(given: string): CallId {
    const isUsable = given !== '' && !this.#callIds.has(given) && !this.#options.usedCallIds(given);
    const callId = isUsable ? (given as CallId) : this.#options.makeCallId();
    this.#callIds.add(callId);
    return callId;
  }

  #content(keep: (block: Prose | Call) => Prose | Call | undefined): AssistantBlock[] {
    return [...this.#blocks.entries()]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([, block]) => {
        const kept = keep(block);
        return kept === undefined ? [] : this.#assembled(kept);
      });
  }

  #assembled(block: Prose | Call): AssistantBlock[] {
    if (block.type === 'tool-call') {
      block.callId ??= this.#ownCallId('');
      return [{ type: 'tool-call', callId: block.callId, name: block.name, arguments: block.arguments }];
    }
    if (block.type === 'text') return block.text === '' ? [] : [{ type: 'text', text: block.text }];
    // A provider may show none of its reasoning and still want its proof back.
    if (block.text === '' && block.replay === undefined) return [];
    return [
      {
        type: 'reasoning',
        text: block.text,
        ...(block.replay === undefined ? {} : { replay: block.replay }),
      },
    ];
  }
}
