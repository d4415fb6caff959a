/** The benchmark's side of the scripted model: starts its process, gives it scripts, asks it what came. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { until } from '../until.js';
import type { ModelCommand, ModelReply, ModelRequest, Script } from './script.js';

const PROCESS = fileURLToPath(new URL('server-process.ts', import.meta.url));

type Command = ModelCommand extends infer C ? (C extends { id: number } ? Omit<C, 'id'> : never) : never;

export class ScriptedModel {
  #commands = 0;
  readonly #waiting = new Map<number, (requests: readonly ModelRequest[]) => void>();

  private constructor(
    private readonly child: ChildProcess,
    /** The base URL for the provider's entry. */
    readonly url: string,
  ) {
    child.on('message', (reply: ModelReply) => {
      if (reply.kind !== 'done') return;
      this.#waiting.get(reply.id)?.(reply.requests);
      this.#waiting.delete(reply.id);
    });
  }

  static async start(): Promise<ScriptedModel> {
    const child = fork(PROCESS, { execArgv: ['--import', 'tsx'] });
    const url = await new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => {
        reject(new Error(`The scripted model ended with ${String(code)}.`));
      });
      child.once('message', (reply: ModelReply) => {
        if (reply.kind === 'listening') resolve(reply.url);
      });
    });
    return new ScriptedModel(child, url);
  }

  /** Plays the script from its start, and forgets the requests so far. */
  async play(script: Script): Promise<void> {
    await this.#send({ kind: 'play', script });
  }

  /** The requests since the last `play`, oldest first. */
  requests(): Promise<readonly ModelRequest[]> {
    return this.#send({ kind: 'report' });
  }

  /** The request of this place since the last `play`, from 0, once it has come. */
  request(place: number): Promise<ModelRequest> {
    return until(`model request ${String(place)}`, async () => (await this.requests())[place]);
  }

  /** When the client broke that request off. */
  broken(place: number): Promise<number> {
    return until(
      'the end of the model request',
      async () => (await this.requests())[place]?.brokenAt ?? undefined,
    );
  }

  stop(): void {
    this.child.disconnect();
  }

  #send(command: Command): Promise<readonly ModelRequest[]> {
    const id = ++this.#commands;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.child.send({ id, ...command });
    });
  }
}
