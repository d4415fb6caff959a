/** One session `s` on a fresh API, with readers that are closed at the end of each test. */
import { v7 as uuidv7 } from 'uuid';
import type { PromptMode } from '../../src/contract/events.js';
import type { ItemId, RequestId } from '../../src/contract/ids.js';
import { admitPrompt } from '../../src/store/admission.js';
import { newSession, startApi, type ApiServer } from './api-server.js';
import { StreamReader, type StreamMessage } from './stream-reader.js';
import { TurnDriver } from './turn-driver.js';

export class FollowedSession {
  readonly #readers: StreamReader[] = [];

  private constructor(
    readonly api: ApiServer,
    readonly driver: TurnDriver,
  ) {}

  static async start(options: Parameters<typeof startApi>[0] = {}): Promise<FollowedSession> {
    const api = await startApi(options);
    await newSession(api, { id: 's' });
    return new FollowedSession(api, new TurnDriver(api.store, await api.uidOf('s')));
  }

  get url(): string {
    return `${this.api.url}/v1/sessions/s/events`;
  }

  async follow(query = '', headers: Record<string, string> = {}): Promise<StreamReader> {
    const reader = await StreamReader.open(this.url + query, headers);
    this.#readers.push(reader);
    return reader;
  }

  /** Asks for a stream that is refused. */
  async refused(query: string, headers: Record<string, string> = {}): Promise<unknown> {
    return StreamReader.tryOpen(this.url + query, headers);
  }

  /** Admits a prompt without what the API adds to the first one, such as a title: one event. */
  async prompt(text: string, mode: PromptMode = 'queue'): Promise<void> {
    await admitPrompt(this.api.store, await this.api.uidOf('s'), {
      requestId: uuidv7() as RequestId,
      itemId: uuidv7() as ItemId,
      mode,
      content: [{ type: 'text', text }],
      bodySha256: text,
    });
  }

  async headSeq(): Promise<number> {
    return (await this.api.store.readState(await this.api.uidOf('s'))).headSeq;
  }

  async stop(): Promise<void> {
    for (const reader of this.#readers) reader.close();
    await this.api.stop();
  }
}

export function ids(reader: StreamReader): (string | undefined)[] {
  return reader.items.map(({ id }: StreamMessage) => id);
}

export function seqs(reader: StreamReader): number[] {
  return reader.events.map(({ seq }) => seq);
}

/** The whole numbers from the one to the other, both included. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}
