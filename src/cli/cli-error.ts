/** The errors of commands, and what a person is told of any error. */
import { ApiError, ConnectionError } from '../client/api-error.js';

/** The command was called in a way that cannot be meant; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command cannot do its work; the message says why and what to do. Exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** The names of errors whose message is written for people. */
const PLAIN = new Set([
  'UsageError',
  'CommandError',
  'ConfigurationError',
  'HomeError',
  'HomeLockedError',
  'EngineError',
  'TemporalCliNotFoundError',
  'ListenError',
  'StoreError',
]);

/** One or more lines about an error, without a stack where the message is enough. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) {
    return error.field === undefined
      ? `${error.message} (${error.code})`
      : `${error.message} (${error.code}, ${error.field})`;
  }
  if (error instanceof ConnectionError) return error.message;
  if (!(error instanceof Error)) return String(error);
  return PLAIN.has(error.name) ? error.message : (error.stack ?? error.message);
}
