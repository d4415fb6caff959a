/**
 * Watches whether a Temporal server answers: one that is somewhere else, or one whose process is there and does nothing.
 *
 * Owns the word on it. What is done about a server that is away is its owner's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { Logger } from 'pino';

const INTERVAL_MS = 1000;
const CALL_TIMEOUT_MS = 2000;
/** One call may be lost; after so many in a row nobody is there. */
const FAILURES_TO_BE_DOWN = 2;

export interface HealthWatch {
  isUp(): boolean;
  stop(): Promise<void>;
}

export interface HealthWatchOptions {
  /** `host:port`. */
  readonly address: string;
  readonly namespace: string;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** It answers again after it was away. */
  readonly onUp: () => void;
  /** It still does not answer. @param failures calls in a row, each of which had two seconds. */
  readonly onAway?: (failures: number) => void;
}

/** Watches a server that has just answered. */
export function watchHealth(options: HealthWatchOptions): HealthWatch {
  const { address, namespace, logger, onUp, onAway } = options;
  const stopping = new AbortController();
  let connection: Connection | undefined;
  let failures = 0;

  const ask = async (): Promise<boolean> => {
    try {
      connection ??= await Connection.connect({
        address,
        connectTimeout: CALL_TIMEOUT_MS,
        // A new connection is one: by default it shares what is left of the one that broke.
        channelArgs: { 'grpc.use_local_subchannel_pool': 1 },
      });
      const { workflowService } = connection;
      await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
        workflowService.describeNamespace({ namespace }),
      );
      return true;
    } catch {
      // Why is told by who needs it; a connection that broke is made anew.
      await connection?.close().catch(() => undefined);
      connection = undefined;
      return false;
    }
  };
  const isUp = (): boolean => failures < FAILURES_TO_BE_DOWN;

  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const wasUp = isUp();
      if (await ask()) {
        failures = 0;
        if (!wasUp) {
          logger.info({ address }, 'the engine answers again');
          onUp();
        }
      } else {
        failures += 1;
        if (wasUp && !isUp()) logger.warn({ address }, 'the engine does not answer');
        // No clock is asked: it also goes on while this process stands still.
        if (!isUp()) onAway?.(failures);
      }
      await pause(INTERVAL_MS, stopping.signal);
    }
    await connection?.close().catch(() => undefined);
  };
  const watching = watch();
  return {
    isUp,
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // A rejection is the abort, which the caller sees.
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
