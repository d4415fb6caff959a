/** The migration of lists of turns, on a database of the version before it. */
import Database from 'better-sqlite3';
import { Kysely, sql, SqliteDialect } from 'kysely';
import { expect, it } from 'vitest';
import { TURN_LIST_MIGRATION } from '../../src/store/sql/turn-list-migration.js';

it('fills tenant, opening, profile and metadata of the turns and sessions that are there', async () => {
  const db = new Kysely<{
    turns: Record<'session_uid' | 'tenant' | 'opened_at' | 'profile', string>;
    session_metadata: Record<'session_uid' | 'key' | 'value', string>;
  }>({ dialect: new SqliteDialect({ database: new Database(':memory:') }) });
  for (const statement of [
    `create table sessions (uid text, tenant text)`,
    `create table turns (session_uid text, turn integer, started_at text, ended_at text)`,
    `create table events (session_uid text, seq integer, type text, data text)`,
    `insert into sessions values ('u1', 'acme'), ('u2', 'other')`,
    `insert into turns values ('u1', 1, '2026-01-01', '2026-01-02'), ('u2', 1, '2026-01-03', null)`,
    `insert into events values
      ('u1', 0, 'session/created', '{"settings":{"workspace":"/w","profile":"default","metadata":{"a":"1"}}}'),
      ('u1', 1, 'session/settings', '{"changes":{"profile":"careful","metadata":{"a":"2","b":"3"}},"by":"ann"}'),
      ('u2', 0, 'session/created', '{"settings":{"workspace":"/w","profile":"default"}}')`,
  ]) {
    await sql.raw(statement).execute(db);
  }
  await TURN_LIST_MIGRATION.up(db);
  const turns = await db.selectFrom('turns').select(['tenant', 'opened_at', 'profile']).execute();
  expect(turns).toEqual([
    { tenant: 'acme', opened_at: '2026-01-01', profile: 'careful' },
    { tenant: 'other', opened_at: '2026-01-03', profile: 'default' },
  ]);
  const metadata = await db.selectFrom('session_metadata').selectAll().orderBy('key').execute();
  expect(metadata).toEqual([
    { session_uid: 'u1', key: 'a', value: '2' },
    { session_uid: 'u1', key: 'b', value: '3' },
  ]);
  await db.destroy();
});
