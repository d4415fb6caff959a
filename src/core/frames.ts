/** Which frames of the live stream still stand for something that the log does not have. */
import type { Frame } from '../contract/chunks.js';
import type { SessionState } from './session-state.js';

/** The place of a frame in the stream: the attempt that it belongs to. */
export type FramePlace = Pick<Frame, 'turn' | 'step' | 'attempt' | 'call'>;

/** The attempts of the open step that have not settled. */
export interface LivePlaces {
  readonly turn: number;
  readonly step: number;
  /** Attempts at the model above this one are live; null where the step has its message. */
  readonly modelAttemptsAfter: number | null;
  /** The calls without a result, by their index. */
  readonly calls: readonly number[];
}

/** Where live frames can be; null while no step is open. */
export function livePlaces(state: SessionState): LivePlaces | null {
  const turn = state.openTurn;
  const step = turn?.step;
  if (turn == null || step == null) return null;
  return {
    turn: turn.number,
    step: step.number,
    modelAttemptsAfter: step.message === null ? step.lastAttempt : null,
    calls: step.calls.filter((call) => call.resultSeq === null).map((call) => call.index),
  };
}

/**
 * Whether the frame's attempt has not settled: its step is open, and neither a message, a withdrawal nor a result of
 * its attempt or call stands in the log.
 */
export function isLiveFrame(state: SessionState, frame: FramePlace): boolean {
  const live = livePlaces(state);
  if (live?.turn !== frame.turn || live.step !== frame.step) return false;
  if (frame.call !== undefined) return live.calls.includes(frame.call);
  return live.modelAttemptsAfter !== null && frame.attempt > live.modelAttemptsAfter;
}
