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
import { closingText, inOneLine } from './ask-text.js';
import { printable, type Output } from './cli-io.js';
import { endingOf } from './exit-codes.js';

export interface PrinterOutputs {
  /** Where the model's text goes; null leaves it out. */
  readonly text: Output | null;
  /** Where everything else goes; null leaves it out. */
  readonly notes: Output | null;
  /** Whether text is printed while it streams, and what running calls write; else what is stored. */
  readonly streams: boolean;
}

const PREVIEW_CHARACTERS = 200;
const OUTPUT_INDENT = '    ';
const TODO_MARKS = { pending: ' ', in_progress: '>', completed: 'x' } as const;

export class TranscriptPrinter {
  /** The text of the running attempt that has been printed. */
  #shown = '';
  #lastMessage = '';
  /** Where a line has been begun and not ended. */
  #openLine: 'text' | 'notes' | null = null;

  constructor(private readonly outputs: PrinterOutputs) {}

  /** The text of the last message, as far as it was printed to the end. */
  get lastMessage(): string {
    return this.#lastMessage;
  }

  async print(item: FollowItem): Promise<void> {
    if (item.type === 'event') await this.#event(item.event);
    if (item.type === 'frame' && this.outputs.streams) await this.#frame(item.frame);
  }

  /** Ends a line that has been begun, so that others can write to the same terminal. */
  async endLine(): Promise<void> {
    if (this.#openLine === null) return;
    const output = this.outputs[this.#openLine];
    this.#openLine = null;
    await output?.write('\n');
  }

  async #frame(frame: Frame): Promise<void> {
    for (const chunk of frame.chunks) {
      if (chunk.type === 'text-delta') await this.#text(chunk.text);
      if (chunk.type === 'tool-output') await this.#output(chunk.text);
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
        await this.endLine();
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
        await this.#note(
          `  ${event.data.name} ${inOneLine(rawText(event.data.arguments), PREVIEW_CHARACTERS)}`,
        );
        return;
      case 'tool/result':
        await this.#note(
          `    ${event.data.error?.code ?? (event.data.isError ? 'error' : 'ok')}: ${inOneLine(textOf(event.data.content), PREVIEW_CHARACTERS)}`,
        );
        return;
      case 'approval/asked': {
        const { approvalId, tool, reason, preview } = event.data;
        await this.#note(`  ? ${inOneLine(`${tool}: ${reason}`, PREVIEW_CHARACTERS)}`);
        if (preview !== undefined) await this.#note(`    ${inOneLine(preview.text, PREVIEW_CHARACTERS)}`);
        await this.#note(`    turnkeeper approvals allow ${approvalId}`);
        return;
      }
      case 'question/asked': {
        const { questionId, questions } = event.data;
        for (const { question } of questions)
          await this.#note(`  ? ${inOneLine(question, PREVIEW_CHARACTERS)}`);
        await this.#note(`    turnkeeper questions answer ${questionId}`);
        return;
      }
      case 'approval/decided':
      case 'question/answered':
        await this.#note(`    ${closingText(event)}`);
        return;
      case 'todo/write':
        for (const { content, status } of event.data.todos)
          await this.#note(`    [${TODO_MARKS[status]}] ${inOneLine(content, PREVIEW_CHARACTERS)}`);
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
    if (this.#openLine === 'notes') await this.endLine();
    this.#shown += text;
    this.#openLine = text.endsWith('\n') ? null : 'text';
    await this.outputs.text.write(this.outputs.text.isTerminal ? printable(text) : text);
  }

  /** What a running call writes, indented. A carriage return begins a new line here: nothing is written over. */
  async #output(text: string): Promise<void> {
    const lines = printable(text.replace(/\r\n?/g, '\n'));
    if (lines === '' || this.outputs.notes === null) return;
    if (this.#openLine === 'text') await this.endLine();
    const begun = this.#openLine === 'notes' ? lines : OUTPUT_INDENT + lines;
    this.#openLine = lines.endsWith('\n') ? null : 'notes';
    await this.outputs.notes.write(begun.replace(/\n(?=[^])/g, `\n${OUTPUT_INDENT}`));
  }

  async #withdraw(why: string): Promise<void> {
    await this.#note(`  [the text above is withdrawn: ${why}]`);
    this.#shown = '';
  }

  async #note(line: string): Promise<void> {
    if (this.outputs.notes === null) return;
    await this.endLine();
    await this.outputs.notes.write(`${printable(line)}\n`);
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
