/** `run`: one task, its answer on standard output, and an exit code that says how it went. */
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { ApiError } from '../../client/api-error.js';
import type { FollowItem } from '../../client/follow.js';
import type { Frame } from '../../contract/chunks.js';
import type { SessionEvent } from '../../contract/events.js';
import type { SessionResource } from '../../contract/http.js';
import type { PermissionMode } from '../../contract/session.js';
import { AskDialogue } from '../ask-dialogue.js';
import { explain, UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import type { Connection, ServerFlags } from '../connect.js';
import { endingOf, EXIT, exitCodeOf } from '../exit-codes.js';
import { TranscriptPrinter } from '../transcript-printer.js';
import { followPrompt, type PromptEnd } from './prompt-turn.js';
import { taskText } from './task-text.js';

export interface RunOptions extends ServerFlags {
  readonly session?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly profile?: string;
  readonly cwd?: string;
  readonly permission?: PermissionMode;
  readonly maxSteps?: number;
  /** Seconds. */
  readonly timeout?: number;
  readonly json?: boolean;
}

/** Opens the connection that the run uses; also another one where its server has ended. */
export type OpenConnection = () => Promise<Connection>;

/** Runs a task to the end of its turn and returns the exit code. @throws UsageError, `ApiError`, and what opening throws. */
export async function run(
  argument: string | undefined,
  options: RunOptions,
  io: CliIo,
  open: OpenConnection,
): Promise<number> {
  return new Run(await taskText(argument, io), options, io, open).execute();
}

class Run {
  readonly #abort = new AbortController();
  readonly #printer: TranscriptPrinter;
  /** Null where nobody can be asked. */
  readonly #dialogue: AskDialogue | null;
  #printed: Promise<void> = Promise.resolve();
  readonly #missed = new Set<string>();
  readonly #connections: Connection[] = [];
  #sessionId = '';
  #isAccepted = false;
  #turn: number | null = null;
  #wasInterrupted = false;
  #wasTimedOut = false;
  /** The calls that asked a question. */
  readonly #questioned = new Set<string>();
  #lackedPerson: 'to-approve' | 'to-answer' | null = null;

  constructor(
    private readonly task: string,
    private readonly options: RunOptions,
    private readonly io: CliIo,
    private readonly open: OpenConnection,
  ) {
    const { stdout, stderr } = io;
    const isQuiet = options.json === true;
    // Where a person looks at both, the answer streams where it belongs; else progress keeps off standard output.
    const text = stdout.isTerminal ? stdout : stderr.isTerminal ? stderr : null;
    this.#printer = new TranscriptPrinter({
      text: isQuiet ? null : text,
      notes: isQuiet || !stderr.isTerminal ? null : stderr,
      streams: true,
    });
    const isAttended = !isQuiet && io.stdin.isTTY === true && !io.stdin.readableEnded && stderr.isTerminal;
    this.#dialogue = isAttended ? new AskDialogue(io, () => this.#connection.client) : null;
  }

  async execute(): Promise<number> {
    const ignoreInterrupts = this.io.onInterrupt(() => {
      if (this.#wasInterrupted) this.io.forceExit(EXIT.interrupted);
      this.#wasInterrupted = true;
      void this.#cancel('interrupted on the command line');
    });
    const timer =
      this.options.timeout === undefined
        ? undefined
        : setTimeout(() => {
            this.#wasTimedOut = true;
            void this.#cancel('the time given with --timeout is over');
          }, this.options.timeout * 1000);
    try {
      return await this.#runTask();
    } catch (error) {
      if (!this.#abort.signal.aborted) throw error;
      await this.#say('The prompt was accepted and waits in the queue of its session.');
      return this.#stoppedCode;
    } finally {
      await this.#printAll();
      for (const connection of this.#connections) await connection.close();
      clearTimeout(timer);
      ignoreInterrupts();
    }
  }

  #isStopped(): boolean {
    return this.#wasInterrupted || this.#wasTimedOut;
  }

  get #stoppedCode(): number {
    return this.#wasInterrupted ? EXIT.interrupted : EXIT.limit;
  }

  get #connection(): Connection {
    const connection = this.#connections.at(-1);
    if (connection === undefined) throw new Error('The run has no connection yet.');
    return connection;
  }

  async #connect(): Promise<Connection> {
    const connection = await this.open();
    this.#connections.push(connection);
    return connection;
  }

  async #runTask(): Promise<number> {
    const { client } = await this.#connect();
    const session = await this.#openSession();
    this.#sessionId = session.id;
    // Asked to stop while nothing was accepted yet: then nothing is.
    if (this.#isStopped()) return this.#stoppedCode;
    const { provider, model } = this.options;
    const answer = await client.prompt(session.id, {
      requestId: randomUUID(),
      text: this.task,
      ...(this.#dialogue === null ? { unattended: true } : {}),
      ...(provider === undefined ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
    });
    if (this.io.stderr.isTerminal) await this.#say(`session ${session.id}`);
    this.#isAccepted = true;
    if (this.#isStopped() && answer.turn === null) this.#abort.abort();
    const end = await followPrompt(this.#connection, answer, {
      signal: this.#abort.signal,
      onItem: (item) => this.#see(item),
      onTurn: (turn) => {
        this.#turn = turn;
        // Asked for while the turn was not known yet.
        if (this.#isStopped()) void this.#cancel('asked for before the turn began');
      },
      onDisconnect: (error) => void this.#say(`${explain(error)} Trying again.`),
      reconnect: () => this.#connect(),
    });
    await this.#printAll();
    return this.#finish(end);
  }

  async #openSession(): Promise<SessionResource> {
    const { session, cwd, profile, provider, model, permission, maxSteps } = this.options;
    const { client, isLocal } = this.#connection;
    const limits = maxSteps === undefined ? {} : { limits: { steps: maxSteps } };
    const known = session === undefined ? undefined : await this.#knownSession(session);
    if (known !== undefined) {
      if (cwd !== undefined && resolve(this.io.cwd, cwd) !== known.workspace) {
        throw new UsageError(
          `The session ${known.id} works in ${known.workspace}; --cwd cannot change that.`,
        );
      }
      const patch = {
        ...(profile === undefined ? {} : { profile }),
        ...(permission === undefined ? {} : { permission }),
        ...limits,
      };
      return Object.keys(patch).length === 0 ? known : client.updateSession(known.id, patch);
    }
    // A server elsewhere has other folders, so there the working folder is only what was asked for.
    const workspace = cwd ?? (isLocal ? '.' : undefined);
    return client.createSession({
      ...(session === undefined ? {} : { id: session }),
      ...(profile === undefined ? {} : { profile }),
      ...(provider === undefined ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
      ...(permission === undefined ? {} : { permission }),
      ...limits,
      ...(workspace === undefined ? {} : { workspace: resolve(this.io.cwd, workspace) }),
    });
  }

  async #knownSession(id: string): Promise<SessionResource | undefined> {
    try {
      return await this.#connection.client.session(id);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  async #see(item: FollowItem): Promise<void> {
    if (item.type === 'event') {
      const { event } = item;
      if (event.turn === this.#turn) this.#noteLack(event);
      if (this.options.json === true) await this.io.stdout.write(`${JSON.stringify(event)}\n`);
    }
    if (this.#dialogue === null) await this.#printer.print(item);
    else await this.#show(item, this.#dialogue);
  }

  #noteLack({ type, data }: SessionEvent): void {
    if (type === 'question/asked') this.#questioned.add(data.callId);
    if (type !== 'tool/result' || data.error?.code !== 'APPROVAL_UNAVAILABLE') return;
    if (!this.#questioned.has(data.callId)) this.#lackedPerson = 'to-approve';
    else this.#lackedPerson ??= 'to-answer';
  }

  /** Puts to the person what the turn asks; while something is asked, what else happens waits to be printed. */
  async #show(item: FollowItem, dialogue: AskDialogue): Promise<void> {
    if (item.type === 'event' && item.event.turn === this.#turn) {
      const isAsk = item.event.type === 'approval/asked' || item.event.type === 'question/asked';
      if (isAsk && !dialogue.isBusy) await this.#printer.endLine();
      dialogue.see(item.event);
      if (isAsk) return;
    }
    if (item.type === 'frame' && this.#isMissed(item.frame, dialogue)) return;
    this.#printed = this.#printed.then(async () => {
      await dialogue.idle();
      await this.#printer.print(item);
    });
    if (!dialogue.isBusy) await this.#printed;
  }

  /** What a call writes while something is asked is not shown, and then nothing of it: its result says it all. */
  #isMissed({ step, call, attempt }: Frame, dialogue: AskDialogue): boolean {
    const place = [step, call, attempt].join('.');
    if (dialogue.isBusy) this.#missed.add(place);
    return this.#missed.has(place);
  }

  /** Asks nothing more, and prints what has waited. */
  async #printAll(): Promise<void> {
    await this.#dialogue?.close();
    await this.#printed;
  }

  /** Cancels the turn and lets the follow go on to its end; a prompt that still waits is left where it is. */
  async #cancel(cause: string): Promise<void> {
    if (!this.#isAccepted) return;
    if (this.#turn === null) {
      this.#abort.abort();
      return;
    }
    try {
      await this.#connection.client.cancelTurn(this.#sessionId, this.#turn, { cause });
    } catch (error) {
      await this.#say(`The turn could not be cancelled: ${explain(error)}`);
    }
  }

  async #finish(end: PromptEnd): Promise<number> {
    if (end.kind === 'removed') {
      await this.#say('The prompt was removed from the queue before it was answered.');
      return this.#wasInterrupted ? EXIT.interrupted : EXIT.error;
    }
    const { reason, output = '' } = end.turn;
    if (reason === undefined) throw new Error('An ended turn has no reason.');
    const hasAnswer = reason.kind === 'completed' || reason.kind === 'max-tokens' || reason.kind === 'limit';
    if (hasAnswer && this.options.json !== true) await this.#printAnswer(output);

    const ending = endingOf(reason);
    if (ending !== undefined && !this.io.stderr.isTerminal) await this.#say(ending);
    const code = exitCodeOf(reason, {
      wasInterrupted: this.#wasInterrupted,
      wasTimedOut: this.#wasTimedOut,
      lackedPerson: this.#lackedPerson !== null,
    });
    if (code === EXIT.approvalUnavailable) {
      await this.#say(
        this.#lackedPerson === 'to-answer'
          ? 'The model asked a question that nobody could answer. Run at a terminal to be asked.'
          : 'A tool call needed an approval that nobody could give. Run at a terminal to be asked, or with --permission full-access to allow all calls.',
      );
    }
    return code;
  }

  /** The answer, unless it has just streamed to where it belongs. */
  async #printAnswer(output: string): Promise<void> {
    const { stdout } = this.io;
    if (output === '' || (stdout.isTerminal && this.#printer.lastMessage === output)) return;
    await stdout.write(output.endsWith('\n') ? output : `${output}\n`);
  }

  async #say(line: string): Promise<void> {
    await this.io.stderr.write(`${line}\n`);
  }
}
