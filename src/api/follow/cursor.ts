/** The cursor of an event stream: how it is spelled, and which place in a session's log and frames it names. */
import { ProblemError } from '../problem.js';

/** Everything up to and with the event `seq`, and every frame up to and with `frame`, is with the reader. */
export interface Cursor {
  /** -1 is before the first event. */
  readonly seq: number;
  /** 0 is before the first frame. */
  readonly frame: number;
}

/** The cursor of a reader that has nothing. */
export const START: Cursor = Object.freeze({ seq: -1, frame: 0 });

/** `<seq>` or `<seq>+<frame>`; a `+` that came unescaped in a query has become a space. */
const CURSOR = /^(-1|\d{1,15})(?:[+ ](\d{1,15}))?$/;

/**
 * Reads a cursor; none is the start.
 *
 * @param source The parameter or header that is to blame where it cannot be read.
 * @throws `ProblemError` `INVALID_CURSOR`.
 */
export function parseCursor(text: string | undefined, source: string): Cursor {
  if (text === undefined) return START;
  const match = CURSOR.exec(text);
  if (match === null) {
    throw new ProblemError('INVALID_CURSOR', `"${source}": must be <seq> or <seq>+<frame>.`, source);
  }
  return { seq: Number(match[1]), frame: Number(match[2] ?? 0) };
}

/** Spells a cursor. The frame stands in it only where it says more than the seq. */
export function formatCursor({ seq, frame }: Cursor, withFrame: boolean): string {
  return withFrame ? `${String(seq)}+${String(frame)}` : String(seq);
}

/**
 * Refuses a cursor that no reader of this session can have.
 *
 * @throws `ProblemError` `INVALID_CURSOR`.
 */
export function checkCursor(cursor: Cursor, head: Cursor): void {
  if (cursor.seq > head.seq) {
    throw new ProblemError(
      'INVALID_CURSOR',
      `The cursor is past the log's end: its last event is ${String(head.seq)}.`,
    );
  }
  if (cursor.frame > head.frame) {
    throw new ProblemError(
      'INVALID_CURSOR',
      `The cursor names a frame that the session has not reached: its last one is ${String(head.frame)}.`,
    );
  }
}
