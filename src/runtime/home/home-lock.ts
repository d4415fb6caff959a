/**
 * The lock that keeps a home to one process, and what its holder tells others: `lock.json` and `server.json`.
 *
 * Node.js has no flock, so the lock is an exclusive SQLite transaction on the empty `lock.db`: SQLite holds a file lock
 * of the operating system, which ends with the process, however it ends, and which no other process has by accident.
 * Nothing else may open `lock.db` in this process: closing any descriptor of a file drops all its locks. A file that
 * somebody removed locks nobody out, so `lock.json` counts too, as long as its process lives.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { HomeLockedError, type HomeHolder } from './home-error.js';
import { identifyProcess, isRunning, processIdentitySchema } from './process-identity.js';
import { readStateFile, removeStateFile, writeStateFile } from './state-file.js';

const LOCK_FILE = 'lock.db';
const HOLDER_FILE = 'lock.json';
const SERVER_FILE = 'server.json';
/** Longer than the instant for which `isHomeLocked` holds a shared lock. */
const ACQUIRE_TIMEOUT_MS = 200;

/** A connection that nothing refers to is collected and closed, and its lock with it. */
const held = new Set<Database.Database>();

const holderSchema = processIdentitySchema.partial({ startTime: true }).extend({
  startedAt: z.string(),
  /** The folder itself: in a copy of it the file says nothing. */
  folder: z.string().optional(),
});
type Holder = z.infer<typeof holderSchema>;

const liveServerSchema = z.object({
  url: z.string(),
  pid: z.number().int().positive(),
  startedAt: z.string(),
});
/** What `server.json` says: where the server of a home answers, its process, and since when (ISO 8601). */
export type LiveServer = z.infer<typeof liveServerSchema>;

export interface HomeLock {
  /** Writes `server.json`; call it when the server answers. */
  publishServer(url: string): void;
  /** Removes `server.json` and gives the home up. A second call does nothing. */
  release(): void;
}

/**
 * Takes the home for this process until `release`, or until the process ends in any way.
 *
 * @param now Gives the time that others are told as the start.
 * @throws HomeLockedError where another process, or this one, has it; it names the pid and, once known, the URL.
 */
export function acquireHomeLock(home: string, now: () => Date = () => new Date()): HomeLock {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (livingHolder(home) !== undefined) throw new HomeLockedError(home, holderOf(home));
  const database = lockedDatabase(home);
  held.add(database);
  const startedAt = now().toISOString();
  // What a killed predecessor left would be taken for ours.
  removeStateFile(join(home, SERVER_FILE));
  writeStateFile(join(home, HOLDER_FILE), {
    ...(identifyProcess(process.pid) ?? { pid: process.pid }),
    startedAt,
    folder: folderIdentity(home),
  } satisfies Holder);
  return {
    publishServer: (url) => {
      writeStateFile(join(home, SERVER_FILE), { url, pid: process.pid, startedAt } satisfies LiveServer);
    },
    release: () => {
      if (!database.open) return;
      removeStateFile(join(home, SERVER_FILE));
      removeStateFile(join(home, HOLDER_FILE));
      database.close();
      held.delete(database);
    },
  };
}

/** Opens the lock's file and takes it; one that is no database, which holds nothing, is made anew. */
function lockedDatabase(home: string, isNew = false): Database.Database {
  const file = join(home, LOCK_FILE);
  const database = new Database(file, { timeout: ACQUIRE_TIMEOUT_MS });
  try {
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) throw new HomeLockedError(home, holderOf(home));
    if (!isDamage(error) || isNew) throw error;
    rmSync(file, { force: true });
    return lockedDatabase(home, true);
  }
}

/** Whether some process has the home now. */
export function isHomeLocked(home: string): boolean {
  return livingHolder(home) !== undefined || isFileLocked(home);
}

function isFileLocked(home: string): boolean {
  let database: Database.Database;
  try {
    database = new Database(join(home, LOCK_FILE), { readonly: true, fileMustExist: true, timeout: 0 });
  } catch {
    // No home, or one that was never used.
    return false;
  }
  try {
    database.prepare('SELECT 1 FROM sqlite_master').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    if (isDamage(error)) return false;
    throw error;
  } finally {
    database.close();
  }
}

/** The server that has the home and is ready, or undefined; a `server.json` of a dead process does not count. */
export function readLiveServer(home: string): LiveServer | undefined {
  if (!isHomeLocked(home)) return undefined;
  const holder = readStateFile(join(home, HOLDER_FILE), holderSchema);
  const server = readStateFile(join(home, SERVER_FILE), liveServerSchema);
  if (holder === undefined || server?.pid !== holder.pid || !isHolderRunning(holder)) return undefined;
  return server;
}

/** Who has said that it has the home and lives; undefined also where the system does not tell processes apart. */
function livingHolder(home: string): Holder | undefined {
  const holder = readStateFile(join(home, HOLDER_FILE), holderSchema);
  if (holder?.startTime === undefined || holder.folder !== folderIdentity(home)) return undefined;
  return isHolderRunning(holder) ? holder : undefined;
}

function folderIdentity(home: string): string | undefined {
  const stats = statSync(home, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${String(stats.dev)}:${String(stats.ino)}`;
}

/** The lock is held, so `lock.json` is right but for the instant in which its holder writes it. */
function holderOf(home: string): HomeHolder {
  const holder = readStateFile(join(home, HOLDER_FILE), holderSchema);
  if (holder === undefined || !isHolderRunning(holder)) return {};
  const server = readStateFile(join(home, SERVER_FILE), liveServerSchema);
  return {
    pid: holder.pid,
    startedAt: holder.startedAt,
    ...(server?.pid === holder.pid ? { url: server.url } : {}),
  };
}

function isHolderRunning({ pid, startTime }: Holder): boolean {
  return startTime === undefined || isRunning({ pid, startTime });
}

function isDamage(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code);
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
}
