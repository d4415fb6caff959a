/** SQLite stores in real files of their own, which are removed with them. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { framesPath, openSqliteStore } from '../../src/store/sqlite/open.js';
import type { SessionStore } from '../../src/store/session-store.js';
import { makeDatabaseFolder } from '../support/database-folder.js';
import type { StoreUnderTest } from './session-store-suite.js';

export interface TemporarySqlite extends StoreUnderTest {
  /** The log's file. */
  readonly path: string;
  /** Runs SQL on the log's file, or on that of the frames, beside the store. */
  sql(statement: string, values?: readonly unknown[], file?: 'log' | 'frames'): unknown[];
}

export async function openTemporarySqlite(): Promise<TemporarySqlite> {
  const folder = makeDatabaseFolder('turnkeeper-store-');
  const path = join(folder, 'sessions.db');
  const openAgain = () => openSqliteStore({ path, clock: Date.now });
  const first = await openAgain();
  let store = first;
  const others: SessionStore[] = [];
  return {
    store: first,
    path,
    reopen: async () => {
      await store.close();
      store = await openAgain();
      return store;
    },
    beside: async () => {
      const other = await openAgain();
      others.push(other);
      return other;
    },
    close: async () => {
      for (const each of [store, ...others]) await each.close();
      rmSync(folder, { recursive: true, force: true });
    },
    sql: (statement, values = [], file = 'log') => {
      const database = new Database(file === 'log' ? path : framesPath(path));
      try {
        const prepared = database.prepare(statement);
        if (prepared.reader) return prepared.all(...values);
        prepared.run(...values);
        return [];
      } finally {
        database.close();
      }
    },
  };
}
