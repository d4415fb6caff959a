/** What a person is told of a file that cannot be used. */
import { CommandError } from '../cli-error.js';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be used by you',
  EPERM: 'may not be used by you',
  EISDIR: 'is a folder',
  ENOTDIR: 'is inside of something that is no folder',
  ENOSPC: 'cannot be written: the disk is full',
  EROFS: 'cannot be written: the file system is read-only',
};

/** The error of a file operation for a person; undefined for any other error. */
export function fileError(error: unknown): CommandError | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('path' in error || error.code === 'ENOSPC')) {
    return undefined;
  }
  const reason = REASONS[String(error.code)];
  const path = 'path' in error ? String(error.path) : 'The file';
  return reason === undefined ? undefined : new CommandError(`${path} ${reason}.`, { cause: error });
}
