/** How SQLite reads the lists: by an index that has their order, however many rows there are. */
import Database from 'better-sqlite3';
import { Kysely, SqliteDialect, type CompiledQuery } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listAsks, listSessions } from '../../src/store/sql/queries.js';
import type { LogTables } from '../../src/store/sql/schema.js';
import { listTurnsOfTenant } from '../../src/store/sql/turn-lists.js';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.js';

let sqlite: TemporarySqlite;
beforeEach(async () => {
  sqlite = await openTemporarySqlite();
});
afterEach(() => sqlite.close());

type Log = Kysely<LogTables>;

/** The steps of SQLite's plan for the one query that `work` makes. */
async function planOf(work: (db: Log) => Promise<unknown>): Promise<string> {
  const queries: CompiledQuery[] = [];
  const database = new Database(sqlite.path);
  const db: Log = new Kysely({
    dialect: new SqliteDialect({ database }),
    log: ({ query }) => {
      queries.push(query);
    },
  });
  try {
    await work(db);
    const [query] = queries;
    const steps = database
      .prepare(`explain query plan ${query?.sql ?? ''}`)
      .all(...(query?.parameters ?? [])) as { detail: string }[];
    return steps.map(({ detail }) => detail).join('\n');
  } finally {
    await db.destroy();
  }
}

const page = { tenant: 't', limit: 10 };
const PLANS: [string, string, (db: Log) => Promise<unknown>][] = [
  ['sessions', 'sessions_of_tenant', (db) => listSessions(db, page)],
  ['sessions of one status', 'sessions_by_status', (db) => listSessions(db, { ...page, status: 'idle' })],
  ['open approvals', 'approvals_open', (db) => listAsks(db, { ...page, kind: 'approval', status: 'open' })],
  [
    'turns of one profile',
    'turns_by_profile',
    (db) => listTurnsOfTenant(db, 't', { limit: 10, profile: 'p' }),
  ],
];

it.each(PLANS)('%s are read by %s, and nothing is sorted', async (_what, index, work) => {
  const plan = await planOf(work);
  expect(plan).toContain(index);
  expect(plan).not.toContain('TEMP B-TREE');
});
