/**
 * Follows a session across broken connections: every event exactly once and in order, every frame once and in order.
 *
 * A stream that closes, breaks or falls silent is no end: the follow comes back with the id of the last thing that it has.
 * It ends with `end`, with the caller's signal, or with a problem that no repetition would cure.
 */
import type { Frame } from '../contract/chunks.js';
import type { SessionEvent } from '../contract/events.js';
import type { StreamState, TurnResource } from '../contract/http.js';
import { ApiError, ConnectionError } from './api-error.js';
import { readEventSource, type SourceMessage } from './event-source.js';
import type { Send } from './request.js';

export type FollowItem =
  | { readonly type: 'event'; readonly id: string; readonly event: SessionEvent }
  | { readonly type: 'frame'; readonly id: string; readonly frame: Frame }
  /** What the session is doing now; also told again after each reconnect. */
  | { readonly type: 'state'; readonly state: StreamState }
  /** The last item of a follow with `until`; null where there was no turn to end. */
  | { readonly type: 'end'; readonly turn: TurnResource | null };

export interface FollowOptions {
  /** A cursor: the `cursor` of a prompt's answer, or the `id` of an item. Default: from the start of the log. */
  readonly after?: string | undefined;
  /** Ends the follow with the end of the turn. */
  readonly until?: 'turn-end' | undefined;
  /** With `until`: which turn; default: the one that is open when the follow begins. */
  readonly turn?: number | undefined;
  /** Ends the follow by throwing its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Told of each break, with how long it takes until the next try. */
  readonly onDisconnect?: ((error: unknown, retryInMs: number) => void) | undefined;
  /** Shorter times for tests. */
  readonly timing?: FollowTiming | undefined;
}

/** In milliseconds. */
export interface FollowTiming {
  /** A connection on which nothing comes for this long, not even a ping, is dead. */
  readonly silenceMs: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

const DEFAULT_TIMING: FollowTiming = { silenceMs: 25_000, firstBackoffMs: 250, maxBackoffMs: 5000 };

/** Follows the stream at `path`. @throws `ApiError` for what no repetition cures, or the signal's reason. */
export async function* follow(
  send: Send,
  path: string,
  options: FollowOptions,
): AsyncGenerator<FollowItem, void, void> {
  const { signal, timing = DEFAULT_TIMING } = options;
  const place = new Place(options);
  for (let failures = 0; ; failures += 1) {
    let failure: unknown = new ConnectionError('The server closed the stream.');
    try {
      const messages = readEventSource(
        (connectionSignal) => send(path, { ...place.request(), signal: connectionSignal }),
        { signal, silenceMs: timing.silenceMs },
      );
      for await (const message of messages) {
        failures = 0;
        const item = place.take(message);
        if (item === 'hole') break;
        if (item === undefined) continue;
        yield item;
        if (item.type === 'end') return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (isFinal(error) && !place.retreat(error)) throw error;
      failure = error;
    }
    const delayMs = backoff(failures, timing);
    options.onDisconnect?.(failure, delayMs);
    await delay(delayMs, signal);
  }
}

/** Where the follow is: what it has, and what it asks for next. */
class Place {
  #cursor: string | undefined;
  #seq: number | undefined;
  #frame = 0;
  #turn: number | undefined;

  constructor(private readonly options: FollowOptions) {
    this.#cursor = options.after;
    this.#turn = options.turn;
    // Without a cursor the first event is 0. Of a given one only the id of the first item tells where it was.
    this.#seq = options.after === undefined ? -1 : undefined;
  }

  request() {
    return {
      headers: {
        accept: 'text/event-stream',
        ...(this.#cursor === undefined ? {} : { 'last-event-id': this.#cursor }),
      },
      query: { until: this.options.until, turn: this.#turn },
    };
  }

  /** The item of a message; undefined for what the caller has already and what is no item; `hole` where one is missing. */
  take({ event, id = '', data }: SourceMessage): FollowItem | 'hole' | undefined {
    switch (event) {
      case 'event': {
        const logged = JSON.parse(data) as SessionEvent;
        if (this.#seq !== undefined && logged.seq <= this.#seq) return undefined;
        if (this.#seq !== undefined && logged.seq > this.#seq + 1) return 'hole';
        this.#seq = logged.seq;
        this.#cursor = id;
        return { type: 'event', id, event: logged };
      }
      case 'frame': {
        const frame = JSON.parse(data) as Frame;
        if (frame.frame <= this.#frame) return undefined;
        this.#frame = frame.frame;
        this.#cursor = id;
        return { type: 'frame', id, frame };
      }
      case 'state': {
        const state = JSON.parse(data) as StreamState;
        // So that a reconnect after this turn's end does not wait for the next one's.
        if (this.options.until !== undefined) this.#turn ??= state.turn ?? undefined;
        return { type: 'state', state };
      }
      case 'end': {
        const turn = JSON.parse(data) as TurnResource | { readonly turn: null };
        return { type: 'end', turn: turn.turn === null ? null : turn };
      }
      default:
        return undefined;
    }
  }

  /**
   * Gives up the frame of the cursor where the server does not know it any more: frames are not flushed as the log is, so
   * a machine that lost its power may have lost the last ones, with the attempt that they were of.
   */
  retreat(error: unknown): boolean {
    const isLost = error instanceof ApiError && error.code === 'INVALID_CURSOR' && this.#frame > 0;
    if (!isLost || this.#seq === undefined) return false;
    this.#cursor = String(this.#seq);
    this.#frame = 0;
    return true;
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
