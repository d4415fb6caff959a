/** The benchmark's side of the crowd: starts its process, has it join, asks it how it goes. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CrowdCommand, CrowdReply, CrowdReport } from './crowd-messages.js';

const PROCESS = fileURLToPath(new URL('crowd-process.ts', import.meta.url));

export class Crowd {
  private constructor(private readonly child: ChildProcess) {}

  /** Resolves when all of them follow. */
  static async join(options: Omit<Extract<CrowdCommand, { kind: 'join' }>, 'kind'>): Promise<Crowd> {
    const crowd = new Crowd(fork(PROCESS, { execArgv: ['--import', 'tsx'] }));
    await crowd.#ask({ kind: 'join', ...options });
    return crowd;
  }

  async report(): Promise<CrowdReport> {
    const reply = await this.#ask({ kind: 'report' });
    if (reply.kind !== 'report') throw new Error('The crowd did not report.');
    return reply.report;
  }

  leave(): void {
    this.child.disconnect();
  }

  #ask(command: CrowdCommand): Promise<CrowdReply> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => {
        reject(new Error(`The crowd ended with ${String(code)}.`));
      };
      this.child.once('exit', onExit);
      this.child.once('message', (reply: CrowdReply) => {
        this.child.off('exit', onExit);
        resolve(reply);
      });
      this.child.send(command);
    });
  }
}
