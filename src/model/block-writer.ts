/**
 * Writes the chunks of one answer: numbers its blocks, opens each before its deltas and closes it once.
 *
 * Owns the bound on an answer's size. What the provider's events mean is the business of the translators.
 */
import type { FinishReason, ModelChunk } from '../contract/chunks.js';
import type { Usage } from '../contract/usage.js';
import { ModelFailure } from './model-failure.js';

/** Text, reasoning and arguments of one answer together, in characters. */
export const MAX_ANSWER_CHARACTERS = 16 * 1024 * 1024;

export type BlockKind = Extract<ModelChunk, { type: 'block-start' }>['block'];

export class BlockWriter {
  #chunks: ModelChunk[] = [];
  #blocks = 0;
  #characters = 0;
  readonly #open = new Set<number>();

  /** How many blocks there are, open or closed. */
  get count(): number {
    return this.#blocks;
  }

  /** The chunks since the last call. */
  take(): readonly ModelChunk[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  /** Opens the next block and returns its index. */
  open(block: BlockKind): number {
    const index = this.#blocks++;
    this.#open.add(index);
    this.#chunks.push({ type: 'block-start', index, block });
    return index;
  }

  /** Adds to a block that is open; nothing is written for an empty text. */
  text(index: number, block: 'text' | 'reasoning', text: string): void {
    if (text === '' || !this.#open.has(index)) return;
    this.#count(text);
    this.#chunks.push({ type: block === 'text' ? 'text-delta' : 'reasoning-delta', index, text });
  }

  /** Adds to a call that is open; nothing is written where nothing is new. */
  call(index: number, delta: { callId?: string; name?: string; argumentsDelta: string }): void {
    const isNew = delta.argumentsDelta !== '' || delta.callId !== undefined || delta.name !== undefined;
    if (!isNew || !this.#open.has(index)) return;
    this.#count(delta.argumentsDelta);
    this.#chunks.push({ type: 'tool-call-delta', index, ...delta });
  }

  /** Closes a block; a second close is not written. */
  close(index: number, replay?: string): void {
    if (!this.#open.delete(index)) return;
    this.#chunks.push({ type: 'block-end', index, ...(replay === undefined ? {} : { replay }) });
  }

  usage(usage: Usage): void {
    this.#chunks.push({ type: 'usage', usage });
  }

  /** Closes what is open and ends the answer. */
  finish(reason: FinishReason, usage: Usage | undefined): void {
    for (const index of [...this.#open].toSorted((a, b) => a - b)) this.close(index);
    if (usage !== undefined) this.usage(usage);
    this.#chunks.push({ type: 'finish', reason });
  }

  #count(text: string): void {
    this.#characters += text.length;
    if (this.#characters > MAX_ANSWER_CHARACTERS) {
      throw new ModelFailure(
        'MALFORMED_RESPONSE',
        `The answer is longer than ${String(MAX_ANSWER_CHARACTERS)} characters`,
      );
    }
  }
}
