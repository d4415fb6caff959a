/**
 * Prints what happens in a session as plain text, while it happens.
 *
 * Streamed text cannot be taken back from a terminal: an attempt that is withdrawn is marked as such, and the text that
 * counts is printed again.
 */
import type { Frame } from '../contract/chunks.js';
import type { AssistantBlock, InputBlock } from '../contract/content.js';
import type { SessionEvent } from '../contract/events.js';
import type { FollowItem } from '../client/follow.js';
import { printable, type Output } from './cli-io.js';
import { endingOf } from './exit-codes.js';

export interface PrinterOutputs {
  /** Where the model's text goes; null leaves it out. */
  readonly text: Output | null;
  /** Where everything else goes; null leaves it out. */
  readonly notes: Output | null;
  /** Whether text is printed while it streams; else when its message is stored. */
  readonly streams: boolean;
}

const RESULT_PREVIEW_CHARACTERS = 200;

export class TranscriptPrinter {
  /** The text of the running attempt that has been printed. */
  #shown = '';
  #lastMessage = '';
  #isLineOpen = false;

  constructor(private readonly outputs: PrinterOutputs) {}

  /** The text of the last message, as far as it was printed to the end. */
  get lastMessage(): string {
    return this.#lastMessage;
  }

  async print(item: FollowItem): Promise<void> {
    if (item.type === 'event') await this.#event(item.event);
    if (item.type === 'frame' && this.outputs.streams) await this.#frame(item.frame);
  }

  async #frame(frame: Frame): Promise<void> {
    for (const chunk of frame.chunks) {
      if (chunk.type === 'text-delta') await this.#text(chunk.text);
    }
  }

  async #event(event: SessionEvent): Promise<void> {
    switch (event.type) {
      case 'user/message':
        if (event.data.source.kind === 'user') await this.#note(`> ${textOf(event.data.content)}`);
        return;
      case 'assistant/message': {
        const text = textOf(event.data.content);
        if (!text.startsWith(this.#shown)) await this.#withdraw('this text replaces it');
        await this.#text(text.slice(this.#shown.length));
        await this.#endLine();
        this.#lastMessage = text;
        this.#shown = '';
        return;
      }
      case 'assistant/attempt':
        if (event.data.outcome !== 'aborted' && this.#shown !== '') {
          await this.#withdraw(
            event.data.outcome === 'lost' ? 'its worker is gone' : 'the model call failed',
          );
        }
        this.#shown = '';
        return;
      case 'llm/retry':
        await this.#note(
          `  retry ${String(event.data.attempt)} after ${event.data.code}, in ${String(event.data.delayMs)} ms`,
        );
        return;
      case 'tool/call':
        await this.#note(`  ${event.data.name} ${shortened(rawText(event.data.arguments))}`);
        return;
      case 'tool/result':
        await this.#note(
          `    ${event.data.error?.code ?? (event.data.isError ? 'error' : 'ok')}: ${shortened(textOf(event.data.content))}`,
        );
        return;
      case 'turn/end': {
        const ending = endingOf(event.data.reason);
        await this.#note(ending ?? `  turn ${String(event.turn ?? '')} completed`);
        return;
      }
      default:
        return;
    }
  }

  async #text(text: string): Promise<void> {
    if (text === '' || this.outputs.text === null) return;
    this.#shown += text;
    this.#isLineOpen = !text.endsWith('\n');
    await this.outputs.text.write(this.outputs.text.isTerminal ? printable(text) : text);
  }

  async #withdraw(why: string): Promise<void> {
    await this.#note(`  [the text above is withdrawn: ${why}]`);
    this.#shown = '';
  }

  async #note(line: string): Promise<void> {
    if (this.outputs.notes === null) return;
    await this.#endLine();
    await this.outputs.notes.write(`${printable(line)}\n`);
  }

  async #endLine(): Promise<void> {
    if (!this.#isLineOpen) return;
    this.#isLineOpen = false;
    await this.outputs.text?.write('\n');
  }
}

function textOf(content: readonly (AssistantBlock | InputBlock)[]): string {
  return content
    .map((block) => (block.type === 'text' ? block.text : block.type === 'blob' ? block.head : ''))
    .join('');
}

function rawText(value: string | { readonly head: string }): string {
  return typeof value === 'string' ? value : value.head;
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > RESULT_PREVIEW_CHARACTERS ? `${line.slice(0, RESULT_PREVIEW_CHARACTERS)}…` : line;
}
