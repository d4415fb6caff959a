/** Which frames of the live stream still stand for something that the log does not have. */
import type { Frame } from '../contract/chunks.js';
import type { SessionState } from './session-state.js';

/** The place of a frame in the stream: the attempt that it belongs to. */
export type FramePlace = Pick<Frame, 'turn' | 'step' | 'attempt' | 'call'>;

/**
 * Whether the frame's attempt has not settled: its step is open, and neither a message, a withdrawal nor a result of
 * its attempt or call stands in the log.
 */
export function isLiveFrame(state: SessionState, frame: FramePlace): boolean {
  const turn = state.openTurn;
  const step = turn?.step;
  if (turn?.number !== frame.turn || step?.number !== frame.step) return false;
  if (frame.call === undefined) return step.message === null && frame.attempt > step.lastAttempt;
  return step.calls[frame.call]?.resultSeq === null;
}
