/** Where a reader of the event stream is, and the id that each thing it is sent gets. */
import type { Frame } from '../../contract/chunks.js';
import type { SessionEvent } from '../../contract/events.js';
import { formatCursor, type Cursor } from './cursor.js';

/**
 * Follows one reader through events and frames.
 *
 * An id is a cursor: whoever comes back with it gets everything after it and nothing before it. A frame's id names the
 * last event that was sent before it. An event's id names the last frame too while frames of an attempt that has not
 * settled are with the reader, for a cursor without a frame asks for those frames again.
 */
export class StreamPosition {
  #seq: number;
  #frame: number;
  /** True while the reader may hold frames of an attempt that has not settled. */
  #holdsFrames: boolean;

  constructor(cursor: Cursor) {
    this.#seq = cursor.seq;
    this.#frame = cursor.frame;
    this.#holdsFrames = cursor.frame > 0;
  }

  get cursor(): Cursor {
    return { seq: this.#seq, frame: this.#frame };
  }

  /** The id of this place. */
  get id(): string {
    return formatCursor(this.cursor, this.#holdsFrames);
  }

  hasEvent(seq: number): boolean {
    return seq <= this.#seq;
  }

  hasFrame(frame: number): boolean {
    return frame <= this.#frame;
  }

  /** Passes an event and returns its id. */
  passEvent(event: SessionEvent): string {
    this.#seq = event.seq;
    if (settlesFrames(event)) this.#holdsFrames = false;
    return this.id;
  }

  /** Passes a frame and returns its id. */
  passFrame(frame: Frame): string {
    this.#frame = frame.frame;
    this.#holdsFrames = true;
    return this.id;
  }

  /** Passes frames that are with the reader, or whose attempts have settled, up to `headFrame`. */
  passHead(headFrame: number): void {
    this.#frame = Math.max(this.#frame, headFrame);
  }
}

/**
 * Whether no frame that was sent before the event can belong to an attempt that has not settled. A result leaves this
 * open, since calls beside it may run on: the id then names a frame without need, which does no harm.
 */
function settlesFrames(event: SessionEvent): boolean {
  switch (event.type) {
    case 'assistant/message':
    case 'assistant/attempt':
    case 'step/end':
    case 'turn/end':
      return true;
    default:
      return false;
  }
}
