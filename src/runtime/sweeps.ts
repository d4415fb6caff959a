/** Sweeps that come again and again, one at a time: when they run. What a sweep does is its sweeper's. */
import type { Logger } from 'pino';

const INTERVAL_MS = 5000;

export interface Sweeper {
  /** Looks at everything now, also at what a sweep that runs has passed over: the engine was started or is back. */
  sweepAll(): Promise<void>;
  stop(): void;
}

/**
 * Starts sweeping at once, over everything, and then at intervals.
 *
 * @param sweepOnce told whether it is to look at everything. Where it throws, that is logged and the next one tries again.
 * @param what names the sweep in the log.
 */
export function startSweeps(
  sweepOnce: (all: boolean) => Promise<void>,
  { what, logger }: { readonly what: string; readonly logger: Logger },
): Sweeper {
  let running: Promise<void> | undefined;
  const sweep = (all: boolean): Promise<void> => {
    // One that is to look at everything comes after one that runs, which may have passed something over.
    if (running !== undefined && all) return running.then(() => sweep(true));
    running ??= sweepOnce(all)
      .catch((error: unknown) => {
        logger.warn({ err: error }, `the sweep of ${what} failed; it is tried again`);
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  void sweep(true);
  const timer = setInterval(() => void sweep(false), INTERVAL_MS);
  return {
    sweepAll: () => sweep(true),
    stop: () => {
      clearInterval(timer);
    },
  };
}
