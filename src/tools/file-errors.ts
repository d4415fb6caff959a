/** File system errors as tool errors: a code to route by and a sentence that says what to do. */
import { ToolError } from './tool.js';

/** The `code` of a Node.js system error, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Whether the error says that there is nothing at a path. */
export function isMissing(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'ENOENT' || errno === 'ENOTDIR';
}

/** A path as it is shown: as it is, or quoted where it has characters that would break the line. */
export function showPath(path: string): string {
  return /[\u0000-\u001f\u007f]/.test(path) ? JSON.stringify(path) : path;
}

/** The tool error for what a file operation threw; a `ToolError` stays as it is. */
export function fileError(error: unknown, path: string): ToolError {
  if (error instanceof ToolError) return error;
  const shown = showPath(path);
  const errno = errnoOf(error);
  switch (errno) {
    case 'ENOENT':
      return new ToolError('FS_NOT_FOUND', `${shown} does not exist.`, { cause: error });
    case 'ENOTDIR':
      return new ToolError('FS_NOT_FOUND', `${shown} does not exist: a part of it is no folder.`, {
        cause: error,
      });
    case 'ELOOP':
      return new ToolError('TOOL_ERROR', `${shown} has symbolic links that lead in a circle.`, {
        cause: error,
      });
    case 'ENAMETOOLONG':
      return new ToolError('TOOL_ERROR', `The path or one of its names is too long: ${shown}`, {
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
      return new ToolError('TOOL_ERROR', `No permission for ${shown} (${errno}).`, { cause: error });
    case 'ENOSPC':
    case 'EDQUOT':
      return new ToolError('TOOL_ERROR', `No space is left to write ${shown} (${errno}).`, { cause: error });
    case 'EROFS':
      return new ToolError('TOOL_ERROR', `${shown} is on a file system that cannot be written.`, {
        cause: error,
      });
    default: {
      const message = error instanceof Error ? error.message : String(error);
      return new ToolError('TOOL_ERROR', `${shown}: ${message}`, { cause: error });
    }
  }
}
