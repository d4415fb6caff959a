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

export interface WorkingTimeLimit {
  /** Null for no limit. */
  readonly limitMs: number | null;
  readonly usedMs: number;
  /**
   * What is left by the log, in milliseconds, asked when the timer is over: the log knows of waits that began while
   * nobody told the workflow.
   */
  readonly leftMs: (limitMs: number) => Promise<number>;
  readonly onOver: () => void;
}

/** Starts the clock. */
export function startWorkingTime({ limitMs, onOver, ...limit }: WorkingTimeLimit): WorkingTime {
  let usedMs = limit.usedMs;
  let since = Date.now();
  let pauses = 0;
  let isOver = false;
  let timer = new CancellationScope();
  const run = (): void => {
    since = Date.now();
    if (limitMs === null) return;
    timer = new CancellationScope();
    timer
      .run(async () => {
        let leftMs = limitMs - usedMs;
        do {
          await sleep(Math.max(1, leftMs));
          leftMs = await limit.leftMs(limitMs);
        } while (leftMs > 0);
      })
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
