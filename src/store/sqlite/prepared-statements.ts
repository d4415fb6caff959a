/**
 * A connection whose statements are prepared once (Kysely's dialect prepares anew for each query), and whose transactions
 * lock at their begin.
 */
import type Database from 'better-sqlite3';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

/** Statements with lists in them come in many lengths, so the least recently used ones are let go. */
const MAX_STATEMENTS = 500;

/** The connection as Kysely's SQLite dialect takes it. Queries must not be streamed: a statement has one cursor. */
export function withPreparedStatements(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, Database.Statement>();
  const rollback: SqliteStatement = {
    reader: false,
    all: () => [],
    iterate: () => [][Symbol.iterator](),
    run: () => {
      // A full disk ends the transaction by itself, and the refusal to do it again would hide why.
      if (database.inTransaction) database.exec('rollback');
      return { changes: 0, lastInsertRowid: 0 };
    },
  };
  return {
    close: () => {
      database.close();
    },
    prepare: (sql) => {
      if (sql === 'rollback') return rollback;
      // One that took the lock at its first write would fail there, had another process (`turnkeeper keys`) written since
      // its first read; at its begin it waits.
      const statement = statements.get(sql) ?? database.prepare(sql === 'begin' ? 'begin immediate' : sql);
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
