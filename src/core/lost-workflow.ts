/**
 * Turns whose workflow was lost: ended by an operator, or forgotten by an engine that was put back to an older copy.
 *
 * Owns what the log is told of the fresh run that goes on, and when there is no sense in yet another one.
 */
import { eventKeys } from '../contract/event-keys.js';
import type { NewEvent } from '../contract/events.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import type { SessionState } from './session-state.js';

/** A workflow that is lost so often, with nothing done in between, will be lost again. */
const MAX_FRUITLESS_RUNS = 5;

/** Whether there is no sense in yet another run. One that waits for a person may be lost any number of times. */
export function isFruitless({ openTurn: turn, approvals, questions }: SessionState): boolean {
  const waits = approvals.length + questions.length > 0;
  return !waits && (turn?.fruitlessRuns ?? 0) > MAX_FRUITLESS_RUNS;
}

/** How a turn ends that is lost again and again. */
export const FRUITLESS: TurnEndReason = {
  kind: 'interrupted',
  note: `The workflow of the turn was lost more than ${String(MAX_FRUITLESS_RUNS)} times in a row with nothing done in between.`,
};

/** `session/repaired` of a run that goes on where another one was lost. */
export function takeover(turn: number, formerRuns: number): NewEvent {
  return {
    type: 'session/repaired',
    key: eventKeys.turnTakenOver(turn, formerRuns),
    data: {
      what: `The workflow of turn ${String(turn)} was lost; a fresh run goes on with the turn.`,
      cause: 'workflow-lost',
    },
  };
}
