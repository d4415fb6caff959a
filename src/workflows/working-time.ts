/** The time that a turn has for its work: a durable timer that stands still while the turn waits for people. */
import { CancellationScope, sleep } from '@temporalio/workflow';

export interface WorkingTime {
  /** Stops the clock; each pause needs its resume. */
  pause(): void;
  resume(): void;
  readonly isPaused: boolean;
  readonly isOver: boolean;
  /** Milliseconds that were used up to now. */
  usedMs(): number;
  /** Ends the timer. */
  clear(): void;
}

/** Calls `onOver` once the time is over. @param limitMs null for no limit. */
export function startWorkingTime(
  limitMs: number | null,
  usedBeforeMs: number,
  onOver: () => void,
): WorkingTime {
  let usedMs = usedBeforeMs;
  let since = Date.now();
  let pauses = 0;
  let isOver = false;
  let timer = new CancellationScope();
  const run = (): void => {
    since = Date.now();
    if (limitMs === null) return;
    timer = new CancellationScope();
    const leftMs = Math.max(1, limitMs - usedMs);
    timer
      .run(() => sleep(leftMs))
      .then(
        () => {
          isOver = true;
          onOver();
        },
        // The turn was over, paused or cancelled before its time was.
        () => undefined,
      );
  };
  const elapsedMs = () => (pauses > 0 ? 0 : Math.max(0, Date.now() - since));
  run();
  return {
    pause: () => {
      usedMs += elapsedMs();
      pauses += 1;
      if (pauses === 1) timer.cancel();
    },
    resume: () => {
      pauses -= 1;
      if (pauses === 0) run();
    },
    get isPaused() {
      return pauses > 0;
    },
    get isOver() {
      return isOver;
    },
    usedMs: () => usedMs + elapsedMs(),
    clear: () => {
      timer.cancel();
    },
  };
}
