/** Files of this host, read and written inside a scope. */
import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { FileSnapshot, ReadFileRequest, WriteFileRequest } from '../execution-provider.js';
import { errnoOf, fileError, isMissing, showPath } from '../file-errors.js';
import { ToolError } from '../tool.js';
import {
  assertKind,
  entryOf,
  fileVersion,
  openChecked,
  type OpenedPath,
  openFile,
  resolveInScope,
} from '../workspace-paths.js';

const CHUNK_BYTES = 64 * 1024;

/** Reads a file in chunks. @throws ToolError FS_NOT_FOUND, OUTSIDE_WORKSPACE, TOOL_ERROR */
export async function readLocalFile(request: ReadFileRequest): Promise<FileSnapshot> {
  const { scope, path, maxBytes, signal, onChunk } = request;
  signal.throwIfAborted();
  const { handle, real, stat } = await openFile(path, scope);
  try {
    if (stat.size > BigInt(maxBytes)) throw tooLarge(path, stat.size, maxBytes);
    let bytes = 0;
    for (;;) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
      signal.throwIfAborted();
      if (bytesRead === 0) break;
      bytes += bytesRead;
      // It can grow while it is read.
      if (bytes > maxBytes) throw tooLarge(path, BigInt(bytes), maxBytes);
      onChunk(buffer.subarray(0, bytesRead));
    }
    // The version from before the reading: a change in between makes it stale.
    return { path: real, version: fileVersion(stat), bytes };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw fileError(error, path);
  } finally {
    await handle.close();
  }
}

/**
 * Writes a file: missing folders first, then a temporary file in the same folder, then a rename over the old one.
 * @throws ToolError FS_STALE_VERSION, FS_NOT_FOUND, OUTSIDE_WORKSPACE, TOOL_ERROR
 */
export async function writeLocalFile(request: WriteFileRequest): Promise<FileSnapshot> {
  const { scope, path } = request;
  const { real, missing } = await resolveInScope(path, scope);
  if (real === scope.workspace && missing.length === 0) {
    throw new ToolError('TOOL_ERROR', `${showPath(path)} is the workspace itself, not a file.`);
  }
  const target = join(real, ...missing);
  const folders = missing.slice(0, -1);
  const start = missing.length === 0 ? dirname(real) : real;
  let folder = await openChecked(start, { scope, asked: dirname(path), wanted: 'folder' });
  try {
    // Each folder is made and entered through the one above it, so none of them can be swapped for a link to elsewhere.
    for (const name of folders) {
      const entry = entryOf(folder, name);
      await mkdir(entry).catch((error: unknown) => {
        if (errnoOf(error) !== 'EEXIST') throw error;
      });
      const next = await openEntry(folder, name, request);
      await folder.handle.close();
      folder = next;
    }
    const written = await replaceEntry(folder, basename(target), request);
    return { path: target, version: fileVersion(written), bytes: Number(written.size) };
  } catch (error) {
    throw fileError(error, path);
  } finally {
    await folder.handle.close();
  }
}

async function openEntry(
  folder: OpenedPath,
  name: string,
  { scope, path }: WriteFileRequest,
): Promise<OpenedPath> {
  const opened = await openChecked(entryOf(folder, name), { scope, asked: path, wanted: 'folder' });
  return { ...opened, real: join(folder.real, name) };
}

async function replaceEntry(
  folder: OpenedPath,
  name: string,
  request: WriteFileRequest,
): Promise<BigIntStats> {
  const { path, content, expectedVersion, idempotencyKey } = request;
  const target = entryOf(folder, name);
  const digest = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 16);
  const temporary = entryOf(folder, `.turnkeeper-${digest}.tmp`);
  let handle: FileHandle | undefined;
  try {
    await rm(temporary, { force: true });
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    handle = await open(temporary, flags, 0o666);
    await handle.writeFile(content);
    const before = await statEntry(target, path);
    if (before !== undefined) await keepOwnerAndMode(handle, before);
    await handle.sync();
    const written = await handle.stat({ bigint: true });
    const now = await statEntry(target, path);
    if (versionOf(now) !== expectedVersion) throw staleVersion(path, now, expectedVersion);
    await rename(temporary, target);
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await handle?.close();
  }
}

async function statEntry(target: string, path: string): Promise<BigIntStats | undefined> {
  try {
    const stat = await lstat(target, { bigint: true });
    if (stat.isSymbolicLink()) {
      throw new ToolError('TOOL_ERROR', `${showPath(path)} is a symbolic link that leads to nothing.`);
    }
    assertKind(stat, 'file', path);
    return stat;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function versionOf(stat: BigIntStats | undefined): string | null {
  return stat === undefined ? null : fileVersion(stat);
}

async function keepOwnerAndMode(handle: FileHandle, before: BigIntStats): Promise<void> {
  await handle.chown(Number(before.uid), Number(before.gid)).catch(() => {
    // Only a privileged process can give a file away; for the others the writer becomes the owner.
  });
  await handle.chmod(Number(before.mode & 0o7777n));
}

function staleVersion(path: string, before: BigIntStats | undefined, expected: string | null): ToolError {
  const what =
    before === undefined ? 'was removed' : expected === null ? 'was created by somebody else' : 'was changed';
  return new ToolError(
    'FS_STALE_VERSION',
    `${showPath(path)} ${what} since it was last read in this session. Read it again first.`,
  );
}

function tooLarge(path: string, bytes: bigint, maxBytes: number): ToolError {
  return new ToolError(
    'TOOL_ERROR',
    `${showPath(path)} has ${String(bytes)} bytes; at most ${String(maxBytes)} can be read. Use grep to find a part of it, or a shell command such as sed, head or tail.`,
  );
}
