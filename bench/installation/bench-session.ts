/** A session of the benchmark: a fresh workspace with one small file, prompts and what becomes of them. */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { PromptAnswer, SessionBody, SessionResource, TurnResource } from '../../src/contract/http.js';
import type { SessionUid } from '../../src/contract/ids.js';
import type { PlayedCall } from '../scripted-model/script.js';
import { until } from '../until.js';
import type { Api, ApiAnswer } from './api.js';

const SMALL_FILE = 'notes.txt';
const SMALL_TEXT = 'one line of text that is read again and again\n'.repeat(10);

/** The quick tool: a file of about 500 bytes. */
export const READ_CALL: PlayedCall = { name: 'read', arguments: { file_path: SMALL_FILE } };
export const BASH_CALL: PlayedCall = { name: 'bash', arguments: { command: 'true' } };

export class BenchSession {
  private constructor(
    private readonly api: Api,
    readonly id: string,
    readonly workspace: string,
  ) {}

  static async create(api: Api, settings: SessionBody = {}): Promise<BenchSession> {
    const { body } = await api.call<SessionResource>('POST', '/v1/sessions', settings);
    writeFileSync(join(body.workspace, SMALL_FILE), SMALL_TEXT);
    return new BenchSession(api, body.id, body.workspace);
  }

  /** The session's own id in workflow ids; a fresh workspace is named by it. */
  get uid(): SessionUid {
    return basename(this.workspace) as SessionUid;
  }

  prompt(text = 'Go on.'): Promise<ApiAnswer<PromptAnswer>> {
    return this.api.call('POST', `/v1/sessions/${this.id}/prompts`, { text });
  }

  cancel(): Promise<ApiAnswer<unknown>> {
    return this.api.call('POST', `/v1/sessions/${this.id}/cancel`, {});
  }

  /** Waits for the turn's end. @throws Error where it was not `completed`. */
  async completed(turn: number): Promise<void> {
    const ended = await until(`end of turn ${String(turn)}`, async () => {
      const { body } = await this.api.call<TurnResource>(
        'GET',
        `/v1/sessions/${this.id}/turns/${String(turn)}?wait=60`,
      );
      return body.status === 'ended' ? body : undefined;
    });
    if (ended.reason?.kind !== 'completed') {
      throw new Error(`The turn ended otherwise: ${JSON.stringify(ended.reason)}`);
    }
  }

  /** Prompts and waits until the turn has completed. */
  async run(): Promise<ApiAnswer<PromptAnswer>> {
    const answer = await this.prompt();
    await this.completed(answer.body.turn!);
    return answer;
  }

  async idle(): Promise<void> {
    await until('rest', async () => {
      const { body } = await this.api.call<SessionResource>('GET', `/v1/sessions/${this.id}`);
      return body.status === 'idle' ? true : undefined;
    });
  }
}
