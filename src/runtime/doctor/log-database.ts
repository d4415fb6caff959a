/** The session log's database as the doctor opens it: beside a server, to be looked at and not to be written. */
import Database from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { checkSession, type SessionCheck } from '../../store/repair/check-session.js';
import type { LogTables } from '../../store/sql/schema.js';

const PAGE = 200;

/** Calls `work` with the database and closes it. */
export async function withLogDatabase<T>(
  file: string,
  options: { readonly readonly: boolean },
  work: (log: Kysely<LogTables>) => Promise<T>,
): Promise<T> {
  const database = new Database(file, { ...options, fileMustExist: true });
  const log = new Kysely<LogTables>({ dialect: new SqliteDialect({ database }) });
  try {
    return await work(log);
  } finally {
    await log.destroy();
  }
}

/** Checks all sessions, one after the other. */
export async function* checkedSessions(log: Kysely<LogTables>): AsyncGenerator<SessionCheck, void, void> {
  for (let after = ''; ;) {
    const rows = await log
      .selectFrom('sessions')
      .selectAll()
      .where('uid', '>', after as never)
      .orderBy('uid')
      .limit(PAGE)
      .execute();
    for (const row of rows) yield await checkSession(log, row);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.uid;
  }
}

/** Whether there is nothing that could be mended. */
export function isWell({ damage, disagreements }: SessionCheck): boolean {
  return damage === null && disagreements.length === 0;
}
