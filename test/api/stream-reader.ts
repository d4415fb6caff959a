/** Reads an event stream as an outside program would, and keeps what it was sent. */
import { createParser } from 'eventsource-parser';
import type { Frame } from '../../src/contract/chunks.js';
import type { SessionEvent } from '../../src/contract/events.js';
import type { Problem, StreamState, TurnResource } from '../../src/contract/http.js';

export interface StreamMessage {
  readonly event: string;
  readonly id?: string | undefined;
  readonly data: unknown;
}

export class StreamReader {
  readonly messages: StreamMessage[] = [];
  readonly #abort = new AbortController();
  readonly #waiting = new Set<() => void>();
  #isDone = false;

  private constructor(
    readonly headers: Headers,
    body: ReadableStream<Uint8Array>,
  ) {
    void this.#read(body);
  }

  /** Opens a stream, or returns the problem by which it was refused. */
  static async tryOpen(
    url: string,
    headers: Record<string, string> = {},
  ): Promise<StreamReader | { status: number; problem: Problem }> {
    const abort = new AbortController();
    const response = await fetch(url, {
      headers: { accept: 'text/event-stream', ...headers },
      signal: abort.signal,
    });
    if (!response.ok) return { status: response.status, problem: (await response.json()) as Problem };
    const reader = new StreamReader(response.headers, response.body as ReadableStream<Uint8Array>);
    reader.#abort.signal.addEventListener('abort', () => {
      abort.abort();
    });
    return reader;
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<StreamReader> {
    const reader = await StreamReader.tryOpen(url, headers);
    if (reader instanceof StreamReader) return reader;
    throw new Error(`The stream was refused: ${JSON.stringify(reader)}`);
  }

  get events(): SessionEvent[] {
    return this.#data('event') as SessionEvent[];
  }

  get frames(): Frame[] {
    return this.#data('frame') as Frame[];
  }

  get states(): StreamState[] {
    return this.#data('state') as StreamState[];
  }

  /** The data of `end`. */
  get end(): TurnResource | { turn: null } | undefined {
    return this.#data('end')[0] as TurnResource | { turn: null } | undefined;
  }

  /** What has an id: events and frames, in the order in which they came. */
  get items(): StreamMessage[] {
    return this.messages.filter(({ event }) => event === 'event' || event === 'frame');
  }

  /** Resolves once the condition holds; rejects where the stream ends before. */
  async until(condition: (reader: this) => boolean): Promise<void> {
    while (!condition(this)) {
      if (this.#isDone) throw new Error(`The stream ended first: ${JSON.stringify(this.messages)}`);
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  /** Resolves when the server has ended the stream. */
  async done(): Promise<void> {
    while (!this.#isDone) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  close(): void {
    this.#abort.abort();
  }

  #data(event: string): unknown[] {
    return this.messages.filter((message) => message.event === event).map(({ data }) => data);
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: ({ event = '', id, data }) => {
        this.messages.push({ event, id, data: JSON.parse(data) as unknown });
      },
    });
    try {
      for await (const chunk of body) {
        parser.feed(decoder.decode(chunk, { stream: true }));
        this.#notify();
      }
    } catch {
      // Closed by the test, or cut by the server: both end the reading.
    }
    this.#isDone = true;
    this.#notify();
  }

  #notify(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
