/**
 * What a step leaves behind when its turn ends before it: each call with its `tool/call` and its result.
 *
 * Pure decisions over the state, for whoever ends a turn early. That the turn ends, and why, is decided elsewhere.
 */
import type { EventData, NewEvent } from '../contract/events.js';
import type { IdSource } from '../contract/ids.js';
import type { CallState, SessionState } from './session-state.js';
import { callEvent, commitResults, type CallResult, type StepPlace } from './turn-progress.js';

/** How the open calls of a step are settled. */
export interface Settlement {
  /** The result of a call that has none; it is asked with the call as it stands in the log. */
  readonly resultOf: (call: CallState) => CallResult;
  /** What is said of a call that did not start. */
  readonly planOf: (call: CallState) => Pick<EventData<'tool/call'>, 'effect' | 'mode'>;
  readonly ids: IdSource;
}

/**
 * `tool/call` of each call that has none, then the results in the model's order. The events are to be appended right
 * after `state`, in one go: the results name the seqs that their calls get.
 */
export function settleCalls(state: SessionState, place: StepPlace, how: Settlement): NewEvent[] {
  const announced: NewEvent[] = [];
  const calls = place.step.calls.map((call) => {
    if (call.callSeq !== null) return call;
    announced.push(callEvent(place, call, how.planOf(call)));
    return { ...call, callSeq: state.headSeq + announced.length };
  });
  const results = commitResults(
    { turn: place.turn, step: { ...place.step, calls } },
    (call) => how.resultOf(place.step.calls[call.index] ?? call),
    how.ids,
  );
  return [...announced, ...results];
}
