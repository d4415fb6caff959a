/** A `fetch` whose answers a test scripts, one a request, and the event streams that it answers with. */
export interface RecordedRequest {
  readonly url: URL;
  readonly headers: Headers;
  readonly method: string;
}

/** What one request is answered with: a response, an error, or a stream that the test goes on writing. */
export type ScriptedAnswer = Response | Error | ScriptedStream;

export class ScriptedStream {
  readonly #encoder = new TextEncoder();
  readonly #body: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  isCancelled = false;

  constructor() {
    this.#body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.isCancelled = true;
      },
    });
  }

  send(event: string, data: unknown, id?: string): this {
    const head = id === undefined ? '' : `id: ${id}\n`;
    return this.raw(this.#encoder.encode(`${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
  }

  /** A log event with this seq. */
  event(seq: number, id = String(seq), type = 'step/start'): this {
    return this.send('event', { sessionId: 's', seq, type, at: '', data: {} }, id);
  }

  frame(seq: number, frame: number): this {
    return this.send(
      'frame',
      { frame, turn: 1, step: 1, attempt: 1, index: frame, chunks: [] },
      `${String(seq)}+${String(frame)}`,
    );
  }

  raw(bytes: Uint8Array): this {
    this.#controller.enqueue(bytes);
    return this;
  }

  close(): this {
    this.#controller.close();
    return this;
  }

  break(): this {
    this.#controller.error(new TypeError('terminated'));
    return this;
  }

  response(signal: AbortSignal | null | undefined): Response {
    signal?.addEventListener('abort', () => {
      this.isCancelled = true;
      try {
        this.#controller.error(signal.reason);
      } catch {
        // Closed already.
      }
    });
    return new Response(this.#body, { headers: { 'content-type': 'text/event-stream' } });
  }
}

export function scriptedFetch(answers: ScriptedAnswer[]): {
  fetch: typeof fetch;
  requests: RecordedRequest[];
} {
  const requests: RecordedRequest[] = [];
  return {
    requests,
    fetch: async (input, init) => {
      requests.push({
        url: new URL(input),
        headers: new Headers(init?.headers),
        method: init?.method ?? 'GET',
      });
      const answer = answers.shift();
      if (answer === undefined) throw new Error('The test has no more answers.');
      if (answer instanceof Error) throw answer;
      return answer instanceof ScriptedStream ? answer.response(init?.signal) : answer;
    },
  };
}

export function problem(status: number, code: string): Response {
  return new Response(
    JSON.stringify({ type: 'urn:x', title: code, status, code, detail: `It is ${code}.` }),
    { status, headers: { 'content-type': 'application/problem+json' } },
  );
}
