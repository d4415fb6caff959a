/**
 * A copy of a home from which a server can start, taken while a server works on the home or while none does.
 *
 * Owns the order. The engine's database is copied before the log's: an engine that is behind the log is made good from it
 * at the start, one that is ahead would tell of turns that no log has. Each database is one cut, and nothing waits for
 * the copy: SQLite lets writers go on beside a reader.
 */
import { existsSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import Database from 'better-sqlite3';
import { framesPath } from '../../store/sqlite/open.js';
import { DATABASE_FILE } from '../engine/engine-state.js';

/** What belongs to a process that runs, or is made anew at the next start. */
const NOT_COPIED: readonly string[] = ['lock.db', 'lock.json', 'server.json', 'engine.json', 'engine.log'];
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
  /** Where the log lies elsewhere than in the home: its name in the copy. */
  readonly movedStore?: string;
}

/** The copy cannot be made; the message says why and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/**
 * Copies a home into a folder that is not there yet, or is empty. Under another name until it is whole, so that what
 * stands under the folder's own is never half a copy.
 *
 * @throws BackupError
 */
export async function backupHome({ home, storeFile }: BackupSource, target: string): Promise<Backup> {
  const folder = resolve(target);
  await checkTarget(home, folder);
  if (!existsSync(storeFile)) {
    throw new BackupError(`There is no session log at ${storeFile}, and so nothing to copy.`);
  }
  const partial = join(dirname(folder), `.${basename(folder)}.partial-${String(process.pid)}`);
  try {
    await mkdir(partial, { recursive: true, mode: 0o700 });
    const isInHome = dirname(storeFile) === home;
    const databases = await copyDatabases(
      [join(home, DATABASE_FILE), framesPath(storeFile), storeFile].filter((file) => existsSync(file)),
      partial,
    );
    await copyFiles(home, partial, storeFile);
    await chmod(partial, 0o700);
    // An empty folder gives its name up to the copy.
    await rename(partial, folder);
    return { folder, databases, ...(isInHome ? {} : { movedStore: basename(storeFile) }) };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    if (error instanceof BackupError) throw error;
    throw new BackupError(`The copy failed: ${error instanceof Error ? error.message : String(error)}.`, {
      cause: error,
    });
  }
}

async function checkTarget(home: string, folder: string): Promise<void> {
  if (isInside(relative(home, folder))) {
    throw new BackupError(`${folder} lies in the home: give a folder elsewhere, best on another disk.`);
  }
  const entries = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new BackupError(`${folder} cannot be used: ${error instanceof Error ? error.message : ''}.`);
  });
  if (entries.length > 0) throw new BackupError(`${folder} is not empty: give one that is, or a new one.`);
}

function isInside(fromHome: string): boolean {
  return fromHome !== '..' && !fromHome.startsWith(`..${sep}`) && !isAbsolute(fromHome);
}

/** One after the other, in the order in which they are given; each is looked through. */
async function copyDatabases(files: readonly string[], folder: string): Promise<CopiedDatabase[]> {
  const copied: CopiedDatabase[] = [];
  for (const file of files) {
    const name = basename(file);
    const copy = join(folder, name);
    const source = new Database(file, { readonly: true, fileMustExist: true });
    try {
      // All pages in one step: in several a writer beside it would make it begin again and again.
      await source.backup(copy, { progress: () => Number.MAX_SAFE_INTEGER });
    } finally {
      source.close();
    }
    checkDatabase(copy);
    copied.push({ name, bytes: (await stat(copy)).size });
  }
  return copied;
}

/** @throws BackupError where the database is damaged. */
function checkDatabase(file: string): void {
  const database = new Database(file);
  try {
    const result = database.pragma('quick_check(1)', { simple: true });
    if (result === 'ok') return;
    throw new BackupError(
      `The copy of ${basename(file)} is damaged, and so is what it is a copy of: ${String(result)}. See "turnkeeper doctor".`,
    );
  } finally {
    database.close();
  }
}

/** All other files of the home: its configuration, its host id, workspaces and background commands. */
async function copyFiles(home: string, folder: string, storeFile: string): Promise<void> {
  const databases = [join(home, DATABASE_FILE), storeFile, framesPath(storeFile)].flatMap((file) =>
    DATABASE_COMPANIONS.map((companion) => file + companion),
  );
  const left = new Set([...databases, ...NOT_COPIED.map((name) => join(home, name))]);
  for (const entry of await readdir(home)) {
    const from = join(home, entry);
    if (left.has(from)) continue;
    await cp(from, join(folder, entry), {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      // Sockets and pipes hold nothing; a file may go while the folder is being read.
      filter: async (path) => {
        const kind = await lstat(path).catch(() => undefined);
        return kind !== undefined && (kind.isFile() || kind.isDirectory() || kind.isSymbolicLink());
      },
    });
  }
}
