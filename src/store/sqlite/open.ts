/**
 * The SQLite backend: the embedded default, for one process.
 *
 * The log commits with `synchronous=FULL`: what was accepted survives a power cut. Frames have a database file of their
 * own with `synchronous=NORMAL`, so that they never wait for the log's full sync.
 */
import { existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Kysely, sql, SqliteDialect, type Transaction } from 'kysely';
import type { Clock } from '../../contract/ids.js';
import { StoreError, type SessionStore } from '../session-store.js';
import { migrateFrames, migrateLog, requireCurrentLog } from '../sql/migrations.js';
import type { FrameTables, LogTables } from '../sql/schema.js';
import { SqlSessionStore } from '../sql/sql-session-store.js';
import { withPreparedStatements } from './prepared-statements.js';

/** How long the file of a WAL stays at most once what is in it has been moved to the database. */
const WAL_LIMIT_BYTES = 16 * 1024 * 1024;
/** How many free pages (4 KiB) are given back at a time: some ten milliseconds in which nothing else is written. */
const RECLAIMED_PAGES = 1000;
/** What `pragma auto_vacuum` says where free pages can be given back. */
const INCREMENTAL = 2;

export interface SqliteStoreOptions {
  /** The log's file; the frames stand beside it, in a file with `-frames` in its name. */
  readonly path: string;
  readonly clock: Clock;
  readonly onObserverError?: (error: unknown) => void;
  /** False leaves the schema as it is, for use beside a process that has the store; default true. */
  readonly migrates?: boolean;
}

/**
 * Opens the store, and makes it where there is none.
 *
 * @throws `StoreError` `SCHEMA_TOO_NEW`, `SCHEMA_TOO_OLD` where it is not to be migrated, `LOG_CORRUPT` where the file is
 * no database, `STORE_UNAVAILABLE` where it cannot be opened, or is missing where it was once.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SessionStore> {
  requireNoneLost(options.path);
  const opened: Database.Database[] = [];
  const database = (path: string, synchronous: 'FULL' | 'NORMAL') => {
    const connection = connect(path);
    opened.push(connection);
    // Of a file that is being made; one that has tables keeps its own way.
    connection.pragma('auto_vacuum = incremental');
    connection.pragma('journal_mode = WAL');
    connection.pragma(`synchronous = ${synchronous}`);
    connection.pragma('busy_timeout = 5000');
    // After a burst the file is cut back to this at the next restart of the WAL.
    connection.pragma(`journal_size_limit = ${String(WAL_LIMIT_BYTES)}`);
    return connection;
  };
  try {
    const log = new Kysely<LogTables>({
      dialect: new SqliteDialect({ database: withPreparedStatements(database(options.path, 'FULL')) }),
    });
    const frames = new Kysely<FrameTables>({
      dialect: new SqliteDialect({
        database: withPreparedStatements(database(framesPath(options.path), 'NORMAL')),
      }),
    });
    if (options.migrates === false) {
      await requireCurrentLog(log);
    } else {
      await migrateLog(log);
      await migrateFrames(frames);
    }
    let isWritable = true;
    const isInPlace = watchPlace(options.path);
    const requireInPlace = (): void => {
      if (isInPlace()) return;
      throw new StoreError(
        'STORE_UNAVAILABLE',
        `The session log ${options.path} was moved or removed while it is in use. Put it back, or stop the server and ` +
          'restore a backup.',
      );
    };
    return new SqlSessionStore(
      {
        kind: 'sqlite',
        log,
        frames,
        transaction: async (durability, work) => {
          try {
            requireInPlace();
            const done = await (durability === 'full'
              ? log.transaction().execute(work)
              : relaxedTransaction(log, work));
            isWritable = true;
            return done;
          } catch (error) {
            if (codeOf(error) === 'STORE_UNAVAILABLE') isWritable = false;
            throw error;
          }
        },
        isWritable: () => isWritable && isInPlace(),
        reclaimSpace: () => reclaimSpace(log, frames, opened),
        translate,
        close: async () => {
          await log.destroy();
          await frames.destroy();
        },
      },
      { clock: options.clock, onObserverError: options.onObserverError ?? (() => undefined) },
    );
  } catch (error) {
    for (const connection of opened) connection.close();
    throw refusal(options.path, translate(error));
  }
}

/** Without the sync of the commit: the next full one syncs the same file, and so what stands before it in it. */
function relaxedTransaction<T>(
  log: Kysely<LogTables>,
  work: (db: Transaction<LogTables>) => Promise<T>,
): Promise<T> {
  return log.connection().execute(async (connection) => {
    await sql`pragma synchronous = normal`.execute(connection);
    try {
      return await connection.transaction().execute(work);
    } finally {
      await sql`pragma synchronous = full`.execute(connection);
    }
  });
}

/** Cuts free pages off the ends of both files. Each has its turn on its connection, as any transaction has. */
async function reclaimSpace(
  log: Kysely<LogTables>,
  frames: Kysely<FrameTables>,
  [logFile, framesFile]: readonly Database.Database[],
): Promise<boolean> {
  let isMore = false;
  for (const [owner, file] of [
    [log, logFile],
    [frames, framesFile],
  ] as const) {
    await (owner as Kysely<unknown>).connection().execute(async () => {
      // A pragma that is run to its end: as a statement it frees one page.
      file?.exec(`pragma incremental_vacuum(${String(RECLAIMED_PAGES)})`);
      isMore ||= Number(file?.pragma('auto_vacuum', { simple: true })) === INCREMENTAL && freePages(file) > 0;
    });
  }
  return isMore;
}

function freePages(file: Database.Database | undefined): number {
  return Number(file?.pragma('freelist_count', { simple: true }) ?? 0);
}

/**
 * Whether the file that is open now still stands under its path: what is committed to another one is found by nobody after
 * the next start.
 */
function watchPlace(path: string): () => boolean {
  const identity = (): string => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? '' : `${String(stats.dev)}:${String(stats.ino)}`;
  };
  const opened = identity();
  return () => identity() === opened;
}

/** Both files are made at once: frames without a log are what is left where somebody moved or removed that. */
function requireNoneLost(path: string): void {
  const frames = framesPath(path);
  if (existsSync(path) || !existsSync(frames)) return;
  throw new StoreError(
    'STORE_UNAVAILABLE',
    `The session log ${path} is missing, and was there once: ${frames} belongs to it. Put it back, or restore a backup; ` +
      `to begin with an empty log, move ${frames} away too.`,
  );
}

/** The file of the frames beside the log's. */
export function framesPath(path: string): string {
  return path.replace(/(\.[^./\\]*)?$/, (extension) => `-frames${extension}`);
}

/** Every file that a store at this path has while it is open. */
export function sqliteFiles(path: string): string[] {
  return [path, framesPath(path)].flatMap((file) => [file, `${file}-wal`, `${file}-shm`]);
}

/** Why the file cannot be opened, and what to do. What no database says of itself is damage. */
function refusal(path: string, error: unknown): unknown {
  if (error instanceof StoreError && error.code !== 'LOG_CORRUPT') return error;
  const why = error instanceof Error ? error.message : String(error);
  return new StoreError(
    'LOG_CORRUPT',
    `The session log ${path} is damaged: ${why} Make a copy of it, and run "turnkeeper doctor --repair".`,
    { cause: error },
  );
}

function connect(path: string): Database.Database {
  try {
    return new Database(path);
  } catch (error) {
    if (error instanceof Database.SqliteError) throw error;
    // A folder that is missing is refused by the driver itself, before SQLite is asked.
    throw new StoreError('STORE_UNAVAILABLE', `The session log's database ${path} cannot be opened.`, {
      cause: error,
    });
  }
}

const CORRUPT = ['SQLITE_CORRUPT', 'SQLITE_NOTADB'];
/** What passes, or what somebody can mend while the server waits. Anything else would only come again. */
const AWAY = ['BUSY', 'LOCKED', 'FULL', 'IOERR', 'CANTOPEN', 'READONLY', 'NOMEM', 'PROTOCOL'].map(
  (name) => `SQLITE_${name}`,
);

function translate(error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined || !(error instanceof Database.SqliteError)) return error;
  return new StoreError(code, `The session log's database failed: ${error.message} (${error.code}).`, {
    cause: error,
  });
}

function codeOf(error: unknown): 'LOG_CORRUPT' | 'STORE_UNAVAILABLE' | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  const is = (prefix: string) => error.code.startsWith(prefix);
  return CORRUPT.some(is) ? 'LOG_CORRUPT' : AWAY.some(is) ? 'STORE_UNAVAILABLE' : undefined;
}
