/**
 * What a turn asks of people, as facts to append: approvals and questions that are opened, decided, expired, withdrawn.
 *
 * Pure decisions over the state. Who may decide, and when a call waits, is decided elsewhere.
 */
import { eventKeys } from '../contract/event-keys.js';
import type { EventData, NewEvent } from '../contract/events.js';
import type { AskRef } from '../contract/agent-turn.js';
import type { CallAsk, SessionState } from './session-state.js';

/** Who the log names as the one that closed what no person has. */
export const TURNKEEPER = 'turnkeeper';

/** `approval/decided`, in the open step of the state. The first decision stands: later ones meet its key. */
export function approvalDecided(state: SessionState, data: EventData<'approval/decided'>): NewEvent {
  return {
    type: 'approval/decided',
    key: eventKeys.approvalDecided(data.approvalId),
    ...placeOf(state),
    data,
  };
}

/** `question/answered`, in the open step of the state. The first answer stands. */
export function questionAnswered(state: SessionState, data: EventData<'question/answered'>): NewEvent {
  return {
    type: 'question/answered',
    key: eventKeys.questionAnswered(data.questionId),
    ...placeOf(state),
    data,
  };
}

/** Whether nobody has answered yet. */
export function isOpen(ask: CallAsk): boolean {
  return ask.kind === 'approval' ? ask.decision === null : ask.answer === null;
}

/** Closes every ask of the open step whose time is over. @param at ISO 8601. */
export function expireAsks(state: SessionState, at: string): NewEvent[] {
  const asks = (state.openTurn?.step?.calls ?? []).flatMap(({ ask }) => (ask === null ? [] : [ask]));
  return asks
    .filter((ask) => isOpen(ask) && ask.expiresAt !== null && ask.expiresAt <= at)
    .map((ask) => closedEvent(state, ask, 'expired'));
}

/** Withdraws all approvals and questions that are open. */
export function withdrawAsks(state: SessionState): NewEvent[] {
  return [
    ...state.approvals.map(({ approvalId }) =>
      closedEvent(state, { kind: 'approval', approvalId }, 'withdrawn'),
    ),
    ...state.questions.map((questionId) => closedEvent(state, { kind: 'question', questionId }, 'withdrawn')),
  ];
}

function closedEvent(state: SessionState, ask: AskRef, outcome: 'expired' | 'withdrawn'): NewEvent {
  return ask.kind === 'approval'
    ? approvalDecided(state, { approvalId: ask.approvalId, outcome, by: TURNKEEPER })
    : questionAnswered(state, { questionId: ask.questionId, answers: null, by: TURNKEEPER, outcome });
}

function placeOf({ openTurn }: SessionState): Pick<NewEvent, 'turn' | 'step'> {
  return {
    ...(openTurn === null ? {} : { turn: openTurn.number }),
    ...(openTurn?.step == null ? {} : { step: openTurn.step.number }),
  };
}
