/**
 * A copy of a home from which a server can start, taken while a server works on the home or while none does.
 *
 * Owns the order. The engine's database is copied before the log's: an engine that is behind the log is made good from it
 * at the start, one that is ahead would tell of turns that no log has. Each database is one cut, and nothing waits for
 * the copy: SQLite lets writers go on beside a reader.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import Database from 'better-sqlite3';
import { framesPath } from '../../store/sqlite/open.js';
import { DATABASE_FILE } from '../engine/engine-state.js';
import { copyFolder } from './copy-folder.js';

/** What belongs to a process that runs, or is made anew at the next start. */
const NOT_COPIED: readonly string[] = [
  ...['lock.db', 'lock.db-journal', 'lock.json', 'server.json'],
  ...['engine.json', 'engine.log', 'engine.log.1'],
];
const DATABASE_COMPANIONS = ['', '-wal', '-shm', '-journal'];

export interface BackupSource {
  /** Absolute. */
  readonly home: string;
  /** The session log's file, in the home or elsewhere. */
  readonly storeFile: string;
}

export interface CopiedDatabase {
  readonly name: string;
  readonly bytes: number;
}

export interface Backup {
  /** Absolute. */
  readonly folder: string;
  readonly databases: readonly CopiedDatabase[];
  /** Damaged databases that a server can start without, and that are not in the copy. */
  readonly leftOut: readonly string[];
  /** Where the log lies elsewhere than in the home: its name in the copy. */
  readonly movedStore?: string;
}

/** The copy cannot be made; the message says why and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

interface SourceDatabase {
  readonly file: string;
  /** In the copy, relative to it. */
  readonly name: string;
  /** Whether all that is in it can be had from the log. */
  readonly isExpendable: boolean;
}

/**
 * Copies a home into a folder that is not there yet, or is empty. Under another name until it is whole, so that what
 * stands under the folder's own is never half a copy.
 *
 * @throws BackupError
 */
export async function backupHome({ home, storeFile }: BackupSource, target: string): Promise<Backup> {
  const folder = await realPlace(resolve(target));
  await checkTarget(home, folder);
  if (!existsSync(storeFile)) {
    throw new BackupError(`There is no session log at ${storeFile}, and so nothing to copy.`);
  }
  const isInHome = isInside(home, storeFile);
  // One that lies in the home keeps its place: the configuration, which is copied too, names it.
  const storeName = isInHome ? relative(home, storeFile) : basename(storeFile);
  const sources: readonly SourceDatabase[] = [
    { file: join(home, DATABASE_FILE), name: DATABASE_FILE, isExpendable: true },
    { file: framesPath(storeFile), name: framesPath(storeName), isExpendable: true },
    { file: storeFile, name: storeName, isExpendable: false },
  ];
  const partial = join(dirname(folder), `.${basename(folder)}.partial-${String(process.pid)}`);
  try {
    await makeFolders(partial);
    const copied = await copyDatabases(sources, partial);
    const left = new Set([...NOT_COPIED, ...withCompanions(sources.map(({ name }) => name))]);
    await copyFolder(home, partial, {
      isCopied: (path) => !left.has(path),
      // Workspaces may lie on another disk; the copy is whole by itself.
      isFollowed: (path) => !path.includes(sep),
    });
    // An empty folder gives its name up to the copy.
    await rename(partial, folder);
    return { folder, ...copied, ...(isInHome ? {} : { movedStore: storeName }) };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    if (error instanceof BackupError) throw error;
    throw new BackupError(`The copy failed: ${error instanceof Error ? error.message : String(error)}.`, {
      cause: error,
    });
  }
}

async function checkTarget(home: string, folder: string): Promise<void> {
  if (isInside(await realpath(home).catch(() => home), folder)) {
    throw new BackupError(`${folder} lies in the home: give a folder elsewhere, best on another disk.`);
  }
  const entries = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new BackupError(`${folder} cannot be used: ${error instanceof Error ? error.message : ''}.`);
  });
  if (entries === undefined) return;
  if (entries.length > 0) throw new BackupError(`${folder} is not empty: give one that is, or a new one.`);
  if ((await stat(folder)).dev !== (await stat(dirname(folder))).dev) {
    throw new BackupError(`${folder} is a file system of its own: give a new folder in it.`);
  }
}

/** One by one: where none can be made (`/proc`) Node.js tries for ever to make all at once. */
async function makeFolders(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  await makeFolders(dirname(folder));
  await mkdir(folder, { mode: 0o700 });
}

/** Where a path that may not be there yet comes to lie. */
async function realPlace(path: string): Promise<string> {
  if (dirname(path) === path) return path;
  return realpath(path).catch(async () => join(await realPlace(dirname(path)), basename(path)));
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function withCompanions(names: readonly string[]): string[] {
  return names.flatMap((name) => DATABASE_COMPANIONS.map((companion) => name + companion));
}

/** One after the other, in the order in which they are given; each is looked through. */
async function copyDatabases(
  sources: readonly SourceDatabase[],
  folder: string,
): Promise<Pick<Backup, 'databases' | 'leftOut'>> {
  const databases: CopiedDatabase[] = [];
  const leftOut: string[] = [];
  for (const { file, name, isExpendable } of sources) {
    if (!existsSync(file)) continue;
    const copy = join(folder, name);
    await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
    const damage = await copyDatabase(file, copy);
    if (damage === undefined) {
      databases.push({ name, bytes: (await stat(copy)).size });
    } else if (isExpendable) {
      for (const part of withCompanions([copy])) await rm(part, { force: true });
      leftOut.push(name);
    } else {
      throw new BackupError(`${file} is damaged: ${damage}. Stop the server and see "turnkeeper doctor".`);
    }
  }
  return { databases, leftOut };
}

/** @returns what is damaged in it, if anything. */
async function copyDatabase(file: string, copy: string): Promise<string | undefined> {
  try {
    const source = new Database(file, { readonly: true, fileMustExist: true });
    try {
      // All pages in one step: in several a writer beside it would make it begin again and again.
      await source.backup(copy, { progress: () => Number.MAX_SAFE_INTEGER });
    } finally {
      source.close();
    }
    const database = new Database(copy);
    try {
      const result = String(database.pragma('integrity_check(1)', { simple: true }));
      return result === 'ok' ? undefined : result;
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof Database.SqliteError && /CORRUPT|NOTADB/.test(error.code)) return error.message;
    throw error;
  }
}
