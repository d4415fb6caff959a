/**
 * Follows a session across broken connections: every event exactly once and in order, every frame once and in order.
 *
 * A stream that closes, breaks or falls silent is no end: the follow comes back with the id of the last thing that it has.
 * It ends with `end`, with the caller's signal, or with a problem that no repetition would cure.
 */
import type { Frame } from '../contract/chunks.js';
import type { EventType, SessionEvent } from '../contract/events.js';
import type { StreamState, TurnResource } from '../contract/http.js';
import type { ApiError } from './api-error.js';
import type { SourceMessage } from './event-source.js';
import { readAcrossConnections, type ReconnectOptions } from './reconnect.js';
import type { Send } from './request.js';

export type FollowItem =
  | { readonly type: 'event'; readonly id: string; readonly event: SessionEvent }
  | { readonly type: 'frame'; readonly id: string; readonly frame: Frame }
  /** What the session is doing now; also told again after each reconnect. */
  | { readonly type: 'state'; readonly state: StreamState }
  /** The last item of a follow with `until`; null where there was no turn to end. */
  | { readonly type: 'end'; readonly turn: TurnResource | null };

export interface FollowOptions extends ReconnectOptions {
  /** A cursor: the `cursor` of a prompt's answer, or the `id` of an item. Default: from the start of the log. */
  readonly after?: string | undefined;
  /** Ends the follow with the end of the turn. */
  readonly until?: 'turn-end' | undefined;
  /** With `until`: which turn; default: the one that is open when the follow begins. */
  readonly turn?: number | undefined;
  /** Only these events; frames come all the same. Default: all. */
  readonly types?: readonly EventType[] | undefined;
}

/** Follows the stream at `path`. @throws `ApiError` for what no repetition cures, or the signal's reason. */
export async function* follow(
  send: Send,
  path: string,
  options: FollowOptions,
): AsyncGenerator<FollowItem, void, void> {
  const place = new Place(options);
  yield* readAcrossConnections<FollowItem>(
    {
      connect: (signal) => send(path, { ...place.request(), signal }),
      take: (message) => place.take(message),
      isLast: ({ type }) => type === 'end',
      retreat: (refusal) => place.retreat(refusal),
    },
    options,
  );
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
      query: { until: this.options.until, turn: this.#turn, types: this.options.types?.join(',') },
    };
  }

  /** The item of a message; undefined for what the caller has already and what is no item; `reconnect` where one is missing. */
  take({ event, id = '', data }: SourceMessage): FollowItem | 'reconnect' | undefined {
    switch (event) {
      case 'event': {
        const logged = JSON.parse(data) as SessionEvent;
        if (this.#seq !== undefined && logged.seq <= this.#seq) return undefined;
        if (this.#isHole(logged.seq)) return 'reconnect';
        this.#seq = logged.seq;
        this.#moveTo(id);
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
      case 'ping':
        // Where events are left out it takes the cursor past them.
        if (id !== '') this.#moveTo(id);
        return undefined;
      default:
        return undefined;
    }
  }

  /** Where the caller wants some events only, gaps are what it asked for. */
  #isHole(seq: number): boolean {
    return this.options.types === undefined && this.#seq !== undefined && seq > this.#seq + 1;
  }

  #moveTo(id: string): void {
    this.#cursor = id;
    // It says that no frame is of an attempt that goes on. A machine that lost its power may give their numbers again.
    if (!id.includes('+')) this.#frame = 0;
  }

  /**
   * Gives up the frame of the cursor where the server does not know it any more: frames are not flushed as the log is, so
   * a machine that lost its power may have lost the last ones, with the attempt that they were of.
   */
  retreat({ code }: ApiError): boolean {
    const [seq, frame] = this.#cursor?.split('+') ?? [];
    if (code !== 'INVALID_CURSOR' || frame === undefined) return false;
    this.#cursor = seq;
    this.#frame = 0;
    return true;
  }
}
