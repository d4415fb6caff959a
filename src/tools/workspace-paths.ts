/**
 * Which path of the file system a tool may touch: resolved inside the workspace after symbolic links, and checked again
 * on what was really opened, so that a link that is swapped in between leads nowhere.
 */
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { PathScope } from './execution-provider.js';
import { errnoOf, fileError, isMissing, showPath } from './file-errors.js';
import { ToolError } from './tool.js';

/** Whether `path` is the folder or lies in it; both absolute and normalized. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/**
 * Checks a real path against the scope.
 * @throws ToolError OUTSIDE_WORKSPACE
 */
export function assertInScope(real: string, scope: PathScope, asked: string): void {
  if (!isWithin(scope.workspace, real)) {
    throw new ToolError(
      'OUTSIDE_WORKSPACE',
      `${showPath(asked)} is outside of the workspace ${showPath(scope.workspace)}.`,
    );
  }
  // A protected folder around the workspace does not close it: the workspace is its exception.
  if (scope.protectedPaths.some((path) => !isWithin(path, scope.workspace) && isWithin(path, real))) {
    throw new ToolError(
      'OUTSIDE_WORKSPACE',
      `${showPath(asked)} is a protected path that no tool may touch.`,
    );
  }
}

/** Where a path leads: the real path of the deepest part that exists, and the names below it that do not. */
export interface ResolvedPath {
  readonly real: string;
  readonly missing: readonly string[];
}

/**
 * Resolves a path, absolute or relative to the workspace, that need not exist.
 * @throws ToolError OUTSIDE_WORKSPACE, TOOL_ERROR
 */
export async function resolveInScope(path: string, scope: PathScope): Promise<ResolvedPath> {
  const wanted = resolve(scope.workspace, path);
  const missing: string[] = [];
  for (let current = wanted; ; current = dirname(current)) {
    try {
      const real = await realpath(current);
      assertInScope(join(real, ...missing), scope, path);
      return { real, missing };
    } catch (error) {
      if (!isMissing(error) || current === dirname(current)) {
        // What cannot be looked at is told apart from what is outside only for paths that say they are inside.
        if (!(error instanceof ToolError)) assertInScope(wanted, scope, path);
        throw fileError(error, path);
      }
      missing.unshift(basename(current));
    }
  }
}

/** The real path of something that exists. @throws ToolError FS_NOT_FOUND, OUTSIDE_WORKSPACE, TOOL_ERROR */
export async function resolveExisting(path: string, scope: PathScope): Promise<string> {
  const { real, missing } = await resolveInScope(path, scope);
  if (missing.length > 0) throw new ToolError('FS_NOT_FOUND', `${showPath(path)} does not exist.`);
  return real;
}

/** Something that was opened, by the real path it was checked under. The caller closes `handle`. */
export interface OpenedPath {
  readonly handle: FileHandle;
  readonly real: string;
  readonly stat: BigIntStats;
}

/** Opens a regular file for reading. @throws ToolError FS_NOT_FOUND, OUTSIDE_WORKSPACE, TOOL_ERROR */
export async function openFile(path: string, scope: PathScope): Promise<OpenedPath> {
  const real = await resolveExisting(path, scope);
  return openChecked(real, { scope, asked: path, wanted: 'file' });
}

/** Opens a folder, which pins it: what is done through the handle stays in it. @throws ToolError as {@link openFile} */
export async function openFolder(path: string, scope: PathScope): Promise<OpenedPath> {
  const real = await resolveExisting(path, scope);
  return openChecked(real, { scope, asked: path, wanted: 'folder' });
}

/** What a path is expected to be. */
export type PathKind = 'file' | 'folder' | 'file or folder';

/** Opens a real path that was resolved before. @throws ToolError as {@link openFile} */
export async function openChecked(
  real: string,
  { scope, asked, wanted }: { scope: PathScope; asked: string; wanted: PathKind },
): Promise<OpenedPath> {
  let handle: FileHandle | undefined;
  try {
    // Looked at before it is opened: opening a device can have effects. Non-blocking, should it become a FIFO meanwhile.
    assertKind(await lstat(real, { bigint: true }), wanted, asked);
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    handle = await open(real, wanted === 'folder' ? flags | constants.O_DIRECTORY : flags);
    const stat = await handle.stat({ bigint: true });
    assertKind(stat, wanted, asked);
    assertInScope(await realPathOf(handle, real, stat), scope, asked);
    return { handle, real, stat };
  } catch (error) {
    await handle?.close();
    if (errnoOf(error) === 'ELOOP') {
      throw new ToolError(
        'OUTSIDE_WORKSPACE',
        `${showPath(asked)} became a symbolic link while it was opened.`,
      );
    }
    throw fileError(error, asked);
  }
}

/** The path of an entry of a folder that is pinned by its handle, whatever happens to the folder's own path. */
export function entryOf(folder: OpenedPath, name: string): string {
  return ON_LINUX ? `/proc/self/fd/${String(folder.handle.fd)}/${name}` : join(folder.real, name);
}

/** The path of a pinned folder as another process can enter it, while the handle is open. */
export function pathForChild(folder: OpenedPath): string {
  return ON_LINUX ? `/proc/${String(process.pid)}/fd/${String(folder.handle.fd)}` : folder.real;
}

const ON_LINUX = process.platform === 'linux';

/** What tells versions of a file apart. */
export function fileVersion(stat: BigIntStats): string {
  return `${String(stat.mtimeNs)}-${String(stat.size)}-${String(stat.ino)}`;
}

/** @throws ToolError TOOL_ERROR where the thing is of another kind */
export function assertKind(stat: BigIntStats, wanted: PathKind, asked: string): void {
  if (wanted !== 'folder' && stat.isFile()) return;
  if (wanted !== 'file' && stat.isDirectory()) return;
  const shown = showPath(asked);
  if (stat.isSymbolicLink()) {
    throw new ToolError('OUTSIDE_WORKSPACE', `${shown} became a symbolic link while it was opened.`);
  }
  const advice = stat.isDirectory() ? ' Use glob to list what is in it.' : '';
  throw new ToolError('TOOL_ERROR', `${shown} is ${kindOf(stat)}, not a ${wanted}.${advice}`);
}

function kindOf(stat: BigIntStats): string {
  if (stat.isFile()) return 'a file';
  if (stat.isDirectory()) return 'a folder';
  if (stat.isFIFO()) return 'a named pipe';
  if (stat.isSocket()) return 'a socket';
  return 'a device';
}

async function realPathOf(handle: FileHandle, real: string, stat: BigIntStats): Promise<string> {
  if (ON_LINUX) return readlink(`/proc/self/fd/${String(handle.fd)}`);
  const again = await realpath(real);
  const there = await lstat(again, { bigint: true });
  if (there.ino === stat.ino && there.dev === stat.dev) return again;
  throw new ToolError('OUTSIDE_WORKSPACE', `${showPath(real)} was replaced while it was opened.`);
}
