/**
 * Repair of a log that was cut in a turn: the turn is closed, so that the log is valid again and the session goes on.
 *
 * Owns what closes such a turn. Where a damaged log is cut, and that nothing else works on the turn, is up to the caller.
 */
import type { BlobBlock } from '../contract/content.js';
import { eventKeys } from '../contract/event-keys.js';
import type { EventData, NewEvent } from '../contract/events.js';
import type { SessionState } from './session-state.js';
import { withdrawAsks } from './asks.js';
import { settleCalls, type Settlement } from './settle-step.js';
import { abandonedResult, abortReason, stepEnd, turnEnd } from './turn-progress.js';

export interface Closing extends Pick<Settlement, 'planOf' | 'ids'> {
  /** Why the turn cannot go on, as its `turn/end` says it. */
  readonly note: string;
  /** The text of the turn's last assistant message, whole or moved to the blob store; null where there is none. */
  readonly output: string | BlobBlock | null;
}

export interface Repair extends Closing {
  /** What was repaired, as `session/repaired` says it. */
  readonly what: string;
  /** How many events were cut off, where that is known. */
  readonly lost?: number;
  readonly cause?: EventData<'session/repaired'>['cause'];
}

/**
 * The events that close the open turn of a log whose fold is `state`, to be appended right after it in one go; none
 * where no turn was entered, since a turn that is only due loses nothing by being started later.
 *
 * A call that had a receipt has an unknown outcome, any other one did not run. A cancel that stands in the log makes
 * the turn `aborted`, as it does everywhere; else it is `interrupted`. Input that waits stays, and is due next.
 */
export function closingEvents(state: SessionState, closing: Closing): NewEvent[] {
  const turn = state.openTurn;
  if (turn?.started !== true) return [];
  const { step, cancel } = turn;
  const calls =
    step === null
      ? []
      : settleCalls(
          state,
          { turn, step },
          { ...closing, resultOf: (call) => abandonedResult(call, cancel !== null) },
        );
  const reason =
    cancel === null ? ({ kind: 'interrupted', note: closing.note } as const) : abortReason(cancel);
  return [
    ...calls,
    ...withdrawAsks(state),
    ...(step === null ? [] : [stepEnd(turn.number, step.number, 'end')]),
    turnEnd(turn, reason, closing.output),
  ];
}

/** As {@link closingEvents}, and the log says that it was repaired. */
export function repairEvents(state: SessionState, repair: Repair): NewEvent[] {
  const closing = closingEvents(state, repair);
  if (state.openTurn === null || closing.length === 0) return [];
  return [
    ...closing,
    {
      type: 'session/repaired',
      key: eventKeys.sessionRepaired(state.openTurn.number),
      data: {
        what: repair.what,
        ...(repair.lost === undefined ? {} : { lost: repair.lost }),
        ...(repair.cause === undefined ? {} : { cause: repair.cause }),
      },
    },
  ];
}
