/** What SQLite alone can be made to suffer: damaged rows, foreign files, and the schema of a later version. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import type { CallId, QuestionId } from '../../src/contract/ids.js';
import type { SessionStore, StoreErrorCode } from '../../src/store/session-store.js';
import { framesPath, openSqliteStore } from '../../src/store/sqlite/open.js';
import { expectCode, TestSession, title } from './session-store/store-fixture.js';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.js';

let sqlite: TemporarySqlite;
let store: SessionStore;
let session: TestSession;

beforeEach(async () => {
  sqlite = await openTemporarySqlite();
  store = sqlite.store;
  session = await TestSession.create(() => store);
  await session.append(title('one'), title('two'), title('three'));
});
afterEach(async () => {
  await sqlite.close();
});

/** Changes the row of seq 2 beside the store, which then looks like one of a version without checksums, and opens the store anew. */
async function damage(column: string, value: string): Promise<void> {
  sqlite.sql(`update events set ${column} = ?, checksum = null where seq = 2`, [value]);
  store = await sqlite.reopen();
}

/** Everything that needs the event is refused, with its seq; what does not is answered. */
async function expectRefused(code: StoreErrorCode): Promise<void> {
  const refusals = [
    () => session.events(),
    () => session.state(),
    () => session.append(title('more')),
    () => store.readTail(session.uid, { seq: -1, frame: 0, limit: 100 }),
  ];
  for (const refused of refusals) {
    await expectCode(refused(), code);
    await expect(refused()).rejects.toThrow(/Event 2 of session/);
  }
  expect(await store.readEvents(session.uid, { before: 2, limit: 10 })).toHaveLength(2);
  expect(await session.record()).toMatchObject({ headSeq: 3 });
}

describe('a log with an event of an unknown type', () => {
  it('is refused as LOG_UNSUPPORTED, for it was written by another version', async () => {
    await damage('type', 'session/from-the-future');
    await expectRefused('LOG_UNSUPPORTED');
  });

  it('is read where the event says that it may be ignored, and goes on', async () => {
    sqlite.sql('update events set data = ?, checksum = null where seq = 2', ['{"ignorable":true,"more":1}']);
    await damage('type', 'session/from-the-future');
    expect((await session.events())[2]).toMatchObject({ type: 'session/from-the-future', data: { more: 1 } });
    expect(await session.state()).toMatchObject({ headSeq: 3, title: 'three' });
    expect((await session.append(title('four')))[0]?.seq).toBe(4);
  });

  it('is not read where it says anything else about that', async () => {
    sqlite.sql('update events set data = ?, checksum = null where seq = 2', ['{"ignorable":"true"}']);
    await damage('type', 'session/from-the-future');
    await expectRefused('LOG_UNSUPPORTED');
  });
});

describe('a log that is damaged is refused as LOG_CORRUPT', () => {
  const values: [string, string][] = [
    ['is no JSON', '{"title": "tw'],
    ['is empty', ''],
    ['is JSON but no object', 'null'],
    ['is a JSON string', '"two"'],
  ];
  it.each(values)('where the data %s', async (_what, value) => {
    await damage('data', value);
    await expectRefused('LOG_CORRUPT');
  });

  it('where the envelope is no JSON', async () => {
    await damage('envelope', '{');
    await expectRefused('LOG_CORRUPT');
  });

  it('where the data does not fit its type and cannot be folded', async () => {
    await damage('type', 'assistant/message');
    await expectCode(session.state(), 'LOG_CORRUPT');
    await expect(session.state()).rejects.toThrow(/Event 2 .* assistant\/message/);
  });

  it('where an event is missing in the middle, or at the end', async () => {
    for (const seq of [2, 3]) {
      const other = await TestSession.create(() => store);
      await other.append(title('one'), title('two'), title('three'));
      sqlite.sql('delete from events where session_uid = ? and seq = ?', [other.uid, seq]);
      store = await sqlite.reopen();
      await expectCode(other.state(), 'LOG_CORRUPT');
      await expectCode(other.append(title('more')), 'LOG_CORRUPT');
    }
  });

  it('where one letter is another, and all else is as it should be', async () => {
    sqlite.sql(`update events set data = replace(data, 'two', 'twa') where seq = 2`);
    store = await sqlite.reopen();
    await expectRefused('LOG_CORRUPT');
  });

  it('and the other sessions are not', async () => {
    const other = await TestSession.create(() => store);
    await other.append(title('fine'));
    await damage('data', '{');
    sqlite.sql('update events set data = ?, checksum = null where seq = 1 and session_uid = ?', [
      '{"title":"fine","source":"user"}',
      other.uid,
    ]);
    expect((await other.state()).title).toBe('fine');
  });
});

describe('a deletion', () => {
  it('leaves no row of the session in any table of either file', async () => {
    const kept = await TestSession.create(() => store);
    for (const each of [session, kept]) {
      await each.prompt('queue', { content: [{ type: 'text', text: 'x'.repeat(100_000) }] });
      await each.enter();
      await each.frame(await each.attempt(), 'x');
      await each.message(1);
      await each.append({
        type: 'question/asked',
        data: {
          questionId: `question-of-${each.uid}` as QuestionId,
          callId: 'call_1' as CallId,
          questions: [],
        },
      });
      await each.transact((transaction) =>
        transaction.stage(1, 1, { index: 0, content: [], isError: false, contexts: [], durationMs: 0 }),
      );
      await each.transact((transaction) => transaction.addFollowUp({ turn: 1, kind: 'title' }));
      const changes = { metadata: { team: 'docs' } };
      await each.append({ type: 'session/settings', data: { changes, by: 'ann' } });
    }
    const rows = () => {
      const counts: Record<string, number> = {};
      for (const file of ['log', 'frames'] as const) {
        const tables = sqlite.sql("select name from sqlite_master where type = 'table'", [], file);
        for (const { name } of tables as { name: string }[]) {
          const columns = sqlite.sql(`pragma table_info(${name})`, [], file) as { name: string }[];
          const column = columns.find((each) => ['uid', 'session_uid'].includes(each.name))?.name;
          // The note that something may be left elsewhere is there for as long as it may.
          if (column === undefined || name === 'leftovers') continue;
          const of = (uid: string) =>
            sqlite.sql(`select * from ${name} where ${column} = ?`, [uid], file).length;
          counts[`${file}.${name}`] = of(session.uid);
          expect(of(kept.uid), `${name} of the other session`).toBeGreaterThan(0);
        }
      }
      return counts;
    };
    const before = rows();
    expect(Object.keys(before).sort()).toEqual([
      'frames.frame_heads',
      'frames.frames',
      'log.approvals',
      'log.attempts',
      'log.blobs',
      'log.events',
      'log.follow_ups',
      'log.requests',
      'log.session_metadata',
      'log.sessions',
      'log.staged',
      'log.turns',
    ]);
    for (const [table, count] of Object.entries(before)) expect(count, table).toBeGreaterThan(0);
    await store.deleteSession(session.uid);
    for (const [table, count] of Object.entries(rows())) expect(count, table).toBe(0);
    const notes = () => sqlite.sql('select * from leftovers where session_uid = ?', [session.uid]);
    expect(notes()).toHaveLength(1);
    await store.retention.clearLeftovers(session.uid);
    expect(notes()).toEqual([]);
  });
});

describe('a database', () => {
  const openPath = (path: string) => openSqliteStore({ path, clock: Date.now });

  it('of a newer version is refused as SCHEMA_TOO_NEW, be it the log or the frames, and is left alone', async () => {
    for (const [file, table] of [
      ['log', 'log_migration'],
      ['frames', 'frame_migration'],
    ] as const) {
      sqlite.sql(`insert into ${table} (name, timestamp) values ('9999-later', 'now')`, [], file);
      await expectCode(openPath(sqlite.path), 'SCHEMA_TOO_NEW');
      sqlite.sql(`delete from ${table} where name = '9999-later'`, [], file);
    }
    store = await sqlite.reopen();
    expect(await session.events()).toHaveLength(4);
  });

  it('keeps the promise of its commits: full sync for the log, and a journal beside', () => {
    const [{ journal_mode: mode }] = sqlite.sql('pragma journal_mode') as [{ journal_mode: string }];
    expect(mode).toBe('wal');
  });

  it('that is none is refused as LOG_CORRUPT, and one that cannot be opened as STORE_UNAVAILABLE', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-store-'));
    try {
      const path = join(folder, 'sessions.db');
      writeFileSync(path, 'This is a text and no database.'.repeat(100));
      await expectCode(openPath(path), 'LOG_CORRUPT');
      await expectCode(openPath(join(folder, 'missing', 'sessions.db')), 'STORE_UNAVAILABLE');
      await expectCode(openPath(folder), 'STORE_UNAVAILABLE');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('that another process holds is refused as STORE_UNAVAILABLE, and nothing is half done', async () => {
    const other = new Database(sqlite.path);
    other.pragma('busy_timeout = 0');
    other.exec('begin immediate');
    const failing = session.append(title('four'));
    await expectCode(failing, 'STORE_UNAVAILABLE');
    other.exec('rollback');
    other.close();
    expect((await session.append(title('five')))[0]?.seq).toBe(4);
    expect((await session.events()).map((event: SessionEvent) => event.seq)).toEqual([0, 1, 2, 3, 4]);
  });

  it('has its frames in a file beside the log', () => {
    expect(framesPath('/a/sessions.db')).toBe('/a/sessions-frames.db');
    expect(framesPath('/a.b/sessions')).toBe('/a.b/sessions-frames');
  });
});
