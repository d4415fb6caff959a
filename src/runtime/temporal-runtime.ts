/** The Temporal SDK's runtime of this process: its logs go where all others go, and signals stay ours. */
import { Runtime, type LogLevel } from '@temporalio/worker';
import type { Logger } from 'pino';

let installed = false;

/** Once in a process; later calls do nothing. */
export function installTemporalRuntime(logger: Logger): void {
  if (installed) return;
  installed = true;
  const log = logger.child({ component: 'temporal' });
  const at = (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: object) => {
    log[level](meta ?? {}, message);
  };
  Runtime.install({
    logger: {
      log: (level: LogLevel, message: string, meta?: object) => {
        at(level.toLowerCase() as 'info')(message, meta);
      },
      trace: at('trace'),
      debug: at('debug'),
      // A worker's life is ours to report.
      info: at('debug'),
      warn: (message, meta) => {
        // The worker of the tool queue has no workflows, and is meant to have none.
        at(message.startsWith('No workflows registered') ? 'debug' : 'warn')(message, meta);
      },
      error: at('error'),
    },
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: 'WARN', forward: {} } },
  });
}
