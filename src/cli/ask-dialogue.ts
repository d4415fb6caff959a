/**
 * Puts what the turn of a run asks to the person at its terminal, one after the other, while the run goes on beside it.
 *
 * Owns which question stands there. An ask that is closed elsewhere meanwhile is taken back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, ConnectionError } from '../client/api-error.js';
import type { Client } from '../client/client.js';
import type { SessionEvent } from '../contract/events.js';
import { askApproval, askQuestions } from './ask-person.js';
import { explain } from './cli-error.js';
import type { CliIo } from './cli-io.js';
import { TerminalPrompt } from './terminal-prompt.js';

interface Ask {
  readonly kind: 'approval' | 'question';
  readonly id: string;
}

const RETRY_MS = 1000;

export class AskDialogue {
  readonly #prompt: TerminalPrompt;
  #waiting: Ask[] = [];
  #current: { readonly id: string; readonly taken: AbortController } | undefined;
  #work: Promise<void> | undefined;

  /** @param client The client of the connection that the run has at the time. */
  constructor(
    io: Pick<CliIo, 'stdin' | 'stderr'>,
    private readonly client: () => Client,
  ) {
    this.#prompt = new TerminalPrompt(io);
  }

  /** Whether something is being asked, so that the terminal is better left alone. */
  get isBusy(): boolean {
    return this.#work !== undefined;
  }

  /** Resolves once nothing is being asked. */
  async idle(): Promise<void> {
    while (this.#work !== undefined) await this.#work;
  }

  /** Asks what the event asks, and takes back what it closes. */
  see(event: SessionEvent): void {
    switch (event.type) {
      case 'approval/asked':
        this.#add({ kind: 'approval', id: event.data.approvalId });
        return;
      case 'question/asked':
        this.#add({ kind: 'question', id: event.data.questionId });
        return;
      case 'approval/decided':
        this.#take(event.data.approvalId);
        return;
      case 'question/answered':
        this.#take(event.data.questionId);
        return;
      default:
        return;
    }
  }

  /** Asks nothing more. */
  async close(): Promise<void> {
    this.#waiting = [];
    this.#current?.taken.abort();
    this.#prompt.close();
    await this.idle();
  }

  #add(ask: Ask): void {
    this.#waiting.push(ask);
    this.#work ??= this.#askAll();
  }

  #take(id: string): void {
    this.#waiting = this.#waiting.filter((ask) => ask.id !== id);
    if (this.#current?.id === id) this.#current.taken.abort();
  }

  async #askAll(): Promise<void> {
    for (let ask = this.#waiting.shift(); ask !== undefined; ask = this.#waiting.shift()) {
      const taken = new AbortController();
      this.#current = { id: ask.id, taken };
      await this.#untilAnswered(ask, taken.signal);
    }
    this.#current = undefined;
    this.#work = undefined;
  }

  async #untilAnswered(ask: Ask, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        if (ask.kind === 'approval') await this.#approval(ask.id, signal);
        else await this.#question(ask.id, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        await this.#prompt.say(explain(error));
        if (!isPassing(error)) return;
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #approval(id: string, signal: AbortSignal): Promise<void> {
    const approval = await this.client().approval(id);
    if (approval.decision !== undefined) return;
    const decision = await askApproval(this.#prompt, approval, signal);
    if (decision !== undefined) await this.client().decideApproval(id, decision);
    else if (!signal.aborted) await this.#leave(`turnkeeper approvals allow ${id}`);
  }

  async #question(id: string, signal: AbortSignal): Promise<void> {
    const question = await this.client().question(id);
    if (question.answer !== undefined) return;
    const answers = await askQuestions(this.#prompt, question.questions, signal);
    if (answers !== undefined) await this.client().answerQuestion(id, answers);
    else if (!signal.aborted) await this.#leave(`turnkeeper questions answer ${id}`);
  }

  async #leave(command: string): Promise<void> {
    await this.#prompt.say(`Nobody answers here any more; the turn waits. From another terminal: ${command}`);
  }
}

/** Whether asking again may go better: the server is away, or the answer did not fit. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof ApiError && (error.status >= 500 || error.code === 'INVALID_REQUEST');
}
