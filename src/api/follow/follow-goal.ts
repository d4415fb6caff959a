/** When a follow with `?until=turn-end` is over, and with which turn. */
import type { SessionEvent } from '../../contract/events.js';
import type { SessionState } from '../../core/session-state.js';
import type { SessionStore, SessionRecord } from '../../store/session-store.js';
import { ProblemError } from '../problem.js';
import type { Cursor } from './cursor.js';

/**
 * `turn`: over right after that turn's end. `head`: over once everything up to `seq` is sent, with that turn or none.
 * `never`: only the reader ends it.
 */
export type FollowGoal =
  | { readonly kind: 'never' }
  | { readonly kind: 'turn'; readonly turn: number }
  | { readonly kind: 'head'; readonly seq: number; readonly turn: number | null };

/**
 * The goal of a follow: the turn that was asked for, else the open one, else the last one that has ended.
 *
 * @param until Null without `?until`; `turn` is null without `?turn`.
 * @throws `ProblemError` `NOT_FOUND` for a turn that neither is nor will come of what is open and queued.
 */
export async function followGoal(
  store: Pick<SessionStore, 'readEvents' | 'findTurn'>,
  session: Pick<SessionRecord, 'uid'>,
  {
    until,
    cursor,
    state,
  }: {
    readonly until: { readonly turn: number | null } | null;
    readonly cursor: Cursor;
    readonly state: SessionState;
  },
): Promise<FollowGoal> {
  if (until === null) return { kind: 'never' };
  const asked = until.turn;
  if (asked === null) {
    return state.openTurn === null
      ? { kind: 'head', seq: state.headSeq, turn: state.lastTurn === 0 ? null : state.lastTurn }
      : { kind: 'turn', turn: state.openTurn.number };
  }
  if (asked > lastTurnInSight(state)) throw new ProblemError('NOT_FOUND', 'There is no such turn.', 'turn');
  if (asked <= state.lastTurn) {
    const [end] = await store.readEvents(session.uid, {
      after: cursor.seq,
      limit: 1,
      types: ['turn/end'],
      turn: asked,
    });
    // Its end is with the reader already: nothing of it is to come.
    if (end === undefined) return { kind: 'head', seq: cursor.seq, turn: asked };
  }
  return { kind: 'turn', turn: asked };
}

/** Whether sending the event reaches the goal. */
export function isGoalEvent(goal: FollowGoal, event: SessionEvent): boolean {
  return goal.kind === 'turn' && event.type === 'turn/end' && event.turn === goal.turn;
}

/** Whether the goal cannot be reached any more: the session has come to rest before that turn. */
export function isOutOfReach(goal: FollowGoal, state: SessionState): boolean {
  return goal.kind === 'turn' && state.openTurn === null && goal.turn > state.lastTurn;
}

/** The highest turn that what is open and queued can make: one for each prompt that waits. */
function lastTurnInSight({ lastTurn, openTurn, inbox }: SessionState): number {
  if (openTurn === null) return lastTurn;
  return openTurn.number + inbox.nextTurn.length + inbox.nextStep.length;
}
