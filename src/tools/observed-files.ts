/** Files that a tool changes: read as a whole, and only changed where this session knows what they held. */
import type { FileSnapshot } from './execution-provider.js';
import { showPath } from './file-errors.js';
import { type ToolContext, ToolError } from './tool.js';
import { scopeOf } from './tool-paths.js';

/** The largest file that `write` and `edit` change. */
export const MAX_CHANGED_FILE_BYTES = 16 * 1024 * 1024;

/** A file with all of its bytes. */
export interface WholeFile extends FileSnapshot {
  readonly content: Buffer;
}

/** Reads a file that is to be changed. @throws ToolError FS_NOT_FOUND, OUTSIDE_WORKSPACE, TOOL_ERROR */
export async function readWholeFile(path: string, context: ToolContext): Promise<WholeFile> {
  const chunks: Uint8Array[] = [];
  const snapshot = await context.execution.readFile({
    scope: scopeOf(context),
    path,
    maxBytes: MAX_CHANGED_FILE_BYTES,
    signal: context.signal,
    onChunk: (bytes) => chunks.push(bytes),
  });
  return { ...snapshot, content: Buffer.concat(chunks) };
}

/**
 * The version that the session observed, which is the file's own.
 * @throws ToolError FS_NOT_OBSERVED where it was never read, FS_STALE_VERSION where it has changed since
 */
export function requireObserved(file: FileSnapshot, path: string, context: ToolContext): string {
  const observed = context.observedVersion(file.path);
  if (observed === undefined) {
    throw new ToolError(
      'FS_NOT_OBSERVED',
      `${showPath(path)} exists and was not read in this session. Read it first, so that nothing in it is lost unseen.`,
    );
  }
  if (observed !== file.version) {
    throw new ToolError(
      'FS_STALE_VERSION',
      `${showPath(path)} was changed since it was last read in this session. Read it again first.`,
    );
  }
  return observed;
}
