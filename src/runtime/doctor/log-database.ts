/** The session log's database as the doctor opens it: beside a server, to be looked at and not to be written. */
import Database from 'better-sqlite3';
import { Kysely, SqliteDialect, type SqliteDatabase } from 'kysely';
import { checkSession, type SessionCheck } from '../../store/repair/check-session.js';
import { StoreError } from '../../store/session-store.js';
import { requireCurrentLog } from '../../store/sql/migrations.js';
import type { LogTables } from '../../store/sql/schema.js';

const PAGE = 200;
/** A server beside that commits right now is waited for. */
const BUSY_TIMEOUT_MS = 5000;

/** Calls `work` with the database and closes it. `T` is that of the log's tables, or of the frames'. */
export async function withDatabase<Tables, T>(
  file: string,
  options: { readonly readonly: boolean },
  work: (db: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const database = new Database(file, { ...options, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: withRollbacks(database) }) });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/** SQLite ends a transaction by itself where it cannot go on: what ended it is to be told, not that it is over already. */
function withRollbacks(database: Database.Database): SqliteDatabase {
  return {
    close: () => {
      database.close();
    },
    prepare: (statement) =>
      database.prepare(statement === 'rollback' && !database.inTransaction ? 'select 1' : statement),
  };
}

/** Calls `work` with the session log, to be read. */
export async function withLog<T>(file: string, work: (log: Kysely<LogTables>) => Promise<T>): Promise<T> {
  return withDatabase(file, { readonly: true }, work);
}

/** Whether the tables are those of this build; of other ones nothing but their age can be told. */
export async function schemaAge(log: Kysely<LogTables>): Promise<'current' | 'older' | 'newer'> {
  try {
    await requireCurrentLog(log);
    return 'current';
  } catch (error) {
    if (error instanceof StoreError && error.code === 'SCHEMA_TOO_OLD') return 'older';
    if (error instanceof StoreError && error.code === 'SCHEMA_TOO_NEW') return 'newer';
    throw error;
  }
}

/** Checks all sessions, one after the other. */
export async function* checkedSessions(log: Kysely<LogTables>): AsyncGenerator<SessionCheck, void, void> {
  for (let after = ''; ;) {
    const rows = await log
      .selectFrom('sessions')
      .select('uid')
      .where('uid', '>', after as never)
      .orderBy('uid')
      .limit(PAGE)
      .execute();
    for (const { uid } of rows) {
      const check = await checkSession(log, uid);
      if (check !== undefined) yield check;
    }
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.uid;
  }
}

/** Whether there is nothing that could be mended. */
export function isWell({ damage, disagreements, damagedBlobs }: SessionCheck): boolean {
  return damage === null && disagreements.length === 0 && damagedBlobs.length === 0;
}
