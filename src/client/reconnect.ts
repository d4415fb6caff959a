/**
 * Reads a stream across broken connections: a connection that closes, breaks or falls silent is no end, the reader comes
 * back after a pause that grows while nothing is heard.
 *
 * Owns when to come back and when to give up. Where to go on from, and what a message is, is the caller's.
 */
import { ApiError, ConnectionError } from './api-error.js';
import { readEventSource, type SourceMessage } from './event-source.js';

export interface ReconnectOptions {
  /** Ends the stream by throwing its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Told of each break, with how long it takes until the next try. */
  readonly onDisconnect?: ((error: unknown, retryInMs: number) => void) | undefined;
  /** Shorter times for tests. */
  readonly timing?: FollowTiming | undefined;
}

/** In milliseconds. */
export interface FollowTiming {
  /** A connection on which nothing is said for this long, not even a ping, is dead. */
  readonly silenceMs: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

/** Two pings and a half: one that is late, or lost with the connection before, is no reason to leave. */
const DEFAULT_TIMING: FollowTiming = { silenceMs: 25_000, firstBackoffMs: 250, maxBackoffMs: 5000 };

/** What is read. */
export interface ReadStream<T> {
  /** Opens the next connection, from where the reader is. */
  connect(signal: AbortSignal): Promise<Response>;
  /** The item of a message; undefined for what is none; `reconnect` where this connection cannot be gone on with. */
  take(message: SourceMessage): T | 'reconnect' | undefined;
  /** Whether the item is the last one. */
  isLast?(item: T): boolean;
  /** Makes the next try another one than that which was refused; false where there is no other. */
  retreat?(refusal: ApiError): boolean;
}

/** The items of a stream, however many connections they come by. @throws `ApiError` for what no repetition cures, or the signal's reason. */
export async function* readAcrossConnections<T extends object>(
  stream: ReadStream<T>,
  { signal, onDisconnect, timing = DEFAULT_TIMING }: ReconnectOptions,
): AsyncGenerator<T, void, void> {
  for (let failures = 0; ; failures += 1) {
    let failure: unknown = new ConnectionError('The server closed the stream.');
    try {
      const messages = readEventSource((connectionSignal) => stream.connect(connectionSignal), {
        signal,
        silenceMs: timing.silenceMs,
      });
      for await (const message of messages) {
        failures = 0;
        const item = stream.take(message);
        if (item === 'reconnect') break;
        if (item === undefined) continue;
        yield item;
        if (stream.isLast?.(item) === true) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (isFinal(error) && !(error instanceof ApiError && stream.retreat?.(error) === true)) throw error;
      failure = error;
    }
    const delayMs = Math.max(
      backoff(failures, timing),
      failure instanceof ApiError ? failure.retryAfterMs : 0,
    );
    onDisconnect?.(failure, delayMs);
    await delay(delayMs, signal);
  }
}

/** Whether the same request would be refused again. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return !(error instanceof ConnectionError);
  return error.status < 500 && error.status !== 408 && error.status !== 429;
}

/** Doubles from the first to the longest; half of it is chance, so that many who broke off together do not return together. */
function backoff(failures: number, { firstBackoffMs, maxBackoffMs }: FollowTiming): number {
  const longest = Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(failures, 16));
  return longest / 2 + (longest / 2) * Math.random();
}

async function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
  signal?.throwIfAborted();
}
