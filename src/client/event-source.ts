/** Reads one connection of server-sent events, and gives up on one that has fallen silent. */
import { createParser } from 'eventsource-parser';
import { ConnectionError } from './api-error.js';

export interface SourceMessage {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly data: string;
}

/** Text of a message, or a part of one. Comments do not count: a proxy may send them for a server that is long gone. */
const SOMETHING_SAID = /^[^:\r\n]/m;

/**
 * The messages of one connection, until it closes.
 *
 * @param connect Opens the connection; the signal that it is given ends it.
 * @throws what `connect` throws, and `ConnectionError` where the connection breaks or is silent for too long.
 */
export async function* readEventSource(
  connect: (signal: AbortSignal) => Promise<Response>,
  { signal, silenceMs }: { readonly signal?: AbortSignal | undefined; readonly silenceMs: number },
): AsyncGenerator<SourceMessage, void, void> {
  const connection = new AbortController();
  const ended = signal === undefined ? connection.signal : AbortSignal.any([signal, connection.signal]);
  let patienceMs = silenceMs;
  /** Waits for the other side; the time that the caller takes between two messages does not count as silence. */
  const heard = async <T>(answer: Promise<T>): Promise<T> => {
    const since = performance.now();
    const timer = setTimeout(() => {
      connection.abort();
    }, patienceMs);
    try {
      return await answer;
    } catch (error) {
      throw connection.signal.aborted
        ? new ConnectionError(`Nothing came for ${String(silenceMs)} ms.`, { cause: error })
        : error;
    } finally {
      clearTimeout(timer);
      patienceMs -= performance.now() - since;
    }
  };

  try {
    const response = await heard(connect(ended));
    patienceMs = silenceMs;
    const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
    if (reader === undefined) throw new ConnectionError('The server sent no stream.');
    const messages: SourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await heard(reader.read().catch(toConnectionError));
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      if (SOMETHING_SAID.test(text)) patienceMs = silenceMs;
      parser.feed(text);
      yield* messages.splice(0);
    }
  } finally {
    connection.abort();
  }
}

function toConnectionError(error: unknown): never {
  throw new ConnectionError('The connection broke.', { cause: error });
}
