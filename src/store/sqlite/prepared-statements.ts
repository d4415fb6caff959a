/** A connection whose statements are prepared once: Kysely's dialect prepares anew for each query. */
import type Database from 'better-sqlite3';
import type { SqliteDatabase } from 'kysely';

/** Statements with lists in them come in many lengths, so the least recently used ones are let go. */
const MAX_STATEMENTS = 500;

/** The connection as Kysely's SQLite dialect takes it. Queries must not be streamed: a statement has one cursor. */
export function withPreparedStatements(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, Database.Statement>();
  return {
    close: () => {
      database.close();
    },
    prepare: (sql) => {
      const statement = statements.get(sql) ?? database.prepare(sql);
      statements.delete(sql);
      statements.set(sql, statement);
      if (statements.size > MAX_STATEMENTS) {
        const oldest = statements.keys().next();
        if (oldest.done !== true) statements.delete(oldest.value);
      }
      return statement;
    },
  };
}
