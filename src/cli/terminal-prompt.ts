/** Asks a person at the terminal: one line of typing for each question. */
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { CliIo } from './cli-io.js';

/** How long typing is thrown away before the first question, so that none of it can answer what nobody had read. */
const TYPED_AHEAD_MS = 50;

/** Standard input is read from the first question on and never before, so that a run in the background is not stopped. */
export class TerminalPrompt {
  #lines: Interface | undefined;
  #isEnded = false;
  #answer: ((line: string | undefined) => void) | undefined;

  constructor(private readonly io: Pick<CliIo, 'stdin' | 'stderr'>) {}

  async say(text: string): Promise<void> {
    await this.io.stderr.write(`${text}\n`);
  }

  /**
   * The line that is typed after the question; undefined once there is nothing more to read, or where the signal is
   * aborted first. A line that comes while nothing is asked is no answer to anything.
   */
  async ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
    await this.#open();
    if (this.#isEnded || signal?.aborted === true) return undefined;
    const answer = new Promise<string | undefined>((resolve) => {
      this.#answer = resolve;
    });
    const stop = () => this.#answer?.(undefined);
    signal?.addEventListener('abort', stop, { once: true });
    await this.io.stderr.write(question);
    const line = await answer;
    this.#answer = undefined;
    signal?.removeEventListener('abort', stop);
    if (line === undefined) await this.io.stderr.write('\n');
    return line;
  }

  /** Stops reading; whoever waits for a line gets none. */
  close(): void {
    this.#isEnded = true;
    this.#lines?.close();
    this.#answer?.(undefined);
  }

  async #open(): Promise<void> {
    if (this.#lines !== undefined || this.#isEnded) return;
    this.#lines = createInterface({ input: this.io.stdin, terminal: false });
    this.#lines.on('line', (line) => this.#answer?.(line));
    this.#lines.on('close', () => {
      this.#isEnded = true;
      this.#answer?.(undefined);
    });
    await delay(TYPED_AHEAD_MS);
  }
}
