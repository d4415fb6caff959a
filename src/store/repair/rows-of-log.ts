/**
 * What the rows of lists have to say of a session, from its log alone.
 *
 * Owns a second opinion on `projections.ts`: it is made of nothing but the events, and held against the rows that their
 * appends wrote.
 */
import type { EventData, SessionEvent } from '../../contract/events.js';
import type { RequestId } from '../../contract/ids.js';
import type { SessionState } from '../../core/session-state.js';

export interface TurnOfLog {
  readonly requestIds: readonly RequestId[];
  /** Null while the turn is open. */
  readonly end: EventData<'turn/end'> | null;
}

export interface AskOfLog {
  readonly askedSeq: number;
  /** Null while it is open. */
  readonly closedSeq: number | null;
}

/** Collects the rows event by event. */
export class RowsOfLog {
  /** By their numbers. */
  readonly turns = new Map<number, TurnOfLog>();
  /** By their ids. */
  readonly asks = new Map<string, AskOfLog>();

  add(event: SessionEvent, after: SessionState): void {
    const { openTurn } = after;
    switch (event.type) {
      case 'turn/start':
        this.#turn(event.turn, { requestIds: event.data.requestIds });
        break;
      case 'turn/end':
        this.#turn(event.turn, { end: event.data });
        break;
      case 'approval/asked':
        this.#asked(event.data.approvalId, event.seq);
        break;
      case 'question/asked':
        this.#asked(event.data.questionId, event.seq);
        break;
      case 'approval/decided':
        this.#closed(event.data.approvalId, event.seq);
        break;
      case 'question/answered':
        this.#closed(event.data.questionId, event.seq);
        break;
      default:
        break;
    }
    if (openTurn !== null && !this.turns.has(openTurn.number)) this.#turn(openTurn.number, {});
  }

  #turn(number: number | undefined, change: Partial<TurnOfLog>): void {
    if (number === undefined) return;
    this.turns.set(number, { requestIds: [], end: null, ...this.turns.get(number), ...change });
  }

  #asked(id: string, askedSeq: number): void {
    this.asks.set(id, { askedSeq, closedSeq: null });
  }

  #closed(id: string, closedSeq: number): void {
    const ask = this.asks.get(id);
    if (ask !== undefined) this.asks.set(id, { ...ask, closedSeq });
  }
}
