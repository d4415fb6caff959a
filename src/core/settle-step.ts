/**
 * What a step leaves behind when its turn ends before it: each call with its `tool/call` and its result, and nobody
 * waiting for an answer any more.
 *
 * Pure decisions over the state, for whoever ends a turn early. That the turn ends, and why, is decided elsewhere.
 */
import { eventKeys } from '../contract/event-keys.js';
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

/** Withdraws all approvals and questions that are open. */
export function withdrawAsks(state: SessionState): NewEvent[] {
  const turn = state.openTurn;
  const at = {
    ...(turn === null ? {} : { turn: turn.number }),
    ...(turn?.step == null ? {} : { step: turn.step.number }),
  };
  return [
    ...state.approvals.map(({ approvalId }): NewEvent => ({
      type: 'approval/decided',
      key: eventKeys.approvalDecided(approvalId),
      ...at,
      data: { approvalId, outcome: 'withdrawn', by: 'turnkeeper' },
    })),
    ...state.questions.map((questionId): NewEvent => ({
      type: 'question/answered',
      key: eventKeys.questionAnswered(questionId),
      ...at,
      data: { questionId, answers: null, by: 'turnkeeper', outcome: 'withdrawn' },
    })),
  ];
}
