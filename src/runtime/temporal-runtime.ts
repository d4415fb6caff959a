/** The Temporal SDK's runtime of this process: its logs go where all others go, and signals stay ours. */
import { Runtime, type LogLevel } from '@temporalio/worker';
import type { Logger } from 'pino';

let installed = false;

/** Once in a process; later calls do nothing. */
export function installTemporalRuntime(logger: Logger): void {
  if (installed) return;
  installed = true;
  const log = logger.child({ component: 'temporal' });
  const write = (level: LogLevel, message: string, meta: object = {}): void => {
    log[pinoLevel(level, message)](meta, message);
  };
  Runtime.install({
    logger: {
      log: write,
      trace: (message, meta) => {
        write('TRACE', message, meta);
      },
      debug: (message, meta) => {
        write('DEBUG', message, meta);
      },
      info: (message, meta) => {
        write('INFO', message, meta);
      },
      warn: (message, meta) => {
        write('WARN', message, meta);
      },
      error: (message, meta) => {
        write('ERROR', message, meta);
      },
    },
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: 'WARN', forward: {} } },
  });
}

function pinoLevel(level: LogLevel, message: string): 'trace' | 'debug' | 'info' | 'warn' | 'error' {
  // The worker of the tool queue has no workflows, and is meant to have none.
  if (message.startsWith('No workflows registered')) return 'debug';
  switch (level) {
    case 'TRACE':
      return 'trace';
    // A worker's life is Turnkeeper's own to report.
    case 'DEBUG':
    case 'INFO':
      return 'debug';
    case 'WARN':
      return 'warn';
    case 'ERROR':
      return 'error';
  }
}
