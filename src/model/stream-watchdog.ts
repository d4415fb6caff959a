/**
 * Tells a silent or stalled answer from a slow reader.
 *
 * Only time spent in waiting for the provider counts: while the caller works on a chunk, no clock runs.
 */
import { ModelFailure } from './model-failure.js';

/** setTimeout takes no longer delay; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface StreamTimeouts {
  /** No bytes at all. */
  readonly silenceMs: number;
  /** No content: bytes that are pings or comments do not count. */
  readonly stallMs: number;
}

export interface StreamWatchdog {
  /** Waits for bytes; past a limit `onTimeout` is called, which has to make the wait reject. */
  waiting<T>(bytes: Promise<T>): Promise<T>;
  /** Content came: the stall clock starts anew. */
  content(): void;
}

export function createStreamWatchdog(
  timeouts: StreamTimeouts,
  onTimeout: (failure: ModelFailure) => void,
): StreamWatchdog {
  let withoutContentMs = 0;
  return {
    waiting: async (bytes) => {
      const since = performance.now();
      const stallLeftMs = Math.max(timeouts.stallMs - withoutContentMs, 0);
      const silent = timeouts.silenceMs <= stallLeftMs;
      const limitMs = Math.min(timeouts.silenceMs, stallLeftMs, MAX_TIMER_MS);
      let judge: NodeJS.Immediate | undefined;
      const timer = setTimeout(() => {
        // A process that was stopped for a while first reads what lies in the socket, then judges.
        judge = setImmediate(() => {
          onTimeout(timedOut(silent, timeouts));
        });
      }, limitMs);
      try {
        return await bytes;
      } finally {
        clearTimeout(timer);
        clearImmediate(judge);
        withoutContentMs += performance.now() - since;
      }
    },
    content: () => {
      withoutContentMs = 0;
    },
  };
}

function timedOut(silent: boolean, { silenceMs, stallMs }: StreamTimeouts): ModelFailure {
  return silent
    ? new ModelFailure('TIMEOUT', `The provider sent nothing for ${String(silenceMs)} ms`)
    : new ModelFailure('TIMEOUT', `The provider sent no content for ${String(stallMs)} ms`);
}
