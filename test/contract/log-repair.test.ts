/** What the doctor makes of a log that somebody damaged in a place that is known. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionId, SessionUid } from '../../src/contract/ids.js';
import type { Kysely } from 'kysely';
import { withDatabase } from '../../src/runtime/doctor/log-database.js';
import { acquireHomeLock } from '../../src/runtime/home/home-lock.js';
import { checkSession } from '../../src/store/repair/check-session.js';
import { repairSession } from '../../src/store/repair/repair-session.js';
import type { SessionStore } from '../../src/store/session-store.js';
import type { LogTables } from '../../src/store/sql/schema.js';
import { checkLog } from '../support/log-invariants.js';
import { randomLog } from '../support/random-log.js';
import { storeLog } from '../support/stored-log.js';
import { seededRandom } from '../unit/model/seeded-random.js';
import {
  commonLength,
  DamagedHome,
  expectWorks,
  makeWholeLog,
  readSession,
  type SessionBefore,
  type WholeLog,
} from './damaged-home.js';
import { TestSession } from './session-store/store-fixture.js';

let whole: WholeLog;
let home: DamagedHome;
beforeAll(async () => {
  whole = await makeWholeLog();
});
afterAll(() => {
  rmSync(whole.folder, { recursive: true });
});
beforeEach(() => {
  home = new DamagedHome(whole);
});
afterEach(() => {
  home.remove();
});

const session = (n: number): SessionBefore => {
  const found = whole.sessions[n];
  if (found === undefined) throw new Error(`There is no session ${String(n)}.`);
  return found;
};
const messages = async (): Promise<string> => (await home.repair()).map(({ message }) => message).join('\n');
const eventsOf = (uid: SessionUid) => home.withStore((store) => store.readEvents(uid, { limit: 10_000 }));

/** Every session works but for those that are to be gone, and the doctor has nothing to say. */
async function expectAllWorks(gone: readonly SessionUid[] = []): Promise<void> {
  const { store: file, sessions } = await home.examine();
  expect(file.status).toBe('ok');
  // The definitions of tools that these logs name are in no store.
  expect(sessions.message).toContain('sessions are whole');
  await home.withStore(async (store: SessionStore) => {
    for (const each of whole.sessions) {
      const record = await store.findSession('tenant', each.id);
      expect(record?.uid, each.id).toBe(gone.includes(each.uid) ? undefined : each.uid);
      if (record !== undefined) await expectWorks(store, each);
    }
  });
}

describe('a log that is damaged', () => {
  it('is named, cut to its last whole state where that is asked for, and what was cut is kept', async () => {
    const { uid, events } = session(3);
    home.sql('update events set data = ? where session_uid = ? and seq = 5', ['{"title": 7', uid]);
    const before = await home.examine();
    expect(before.sessions.status).toBe('problem');
    expect(before.sessions.message).toContain('turnkeeper doctor --repair');
    expect(before.sessions.message).toContain('session-3: Event 5');
    expect(readdirSync(home.folder)).not.toContain('cut-off');
    expect(await messages()).toContain('session-3: cut at event 5');
    const [at = ''] = readdirSync(join(home.folder, 'cut-off'));
    const kept = readFileSync(join(home.folder, 'cut-off', at, `${uid}.jsonl`), 'utf8');
    expect(kept).toContain('{\\"title\\": 7');
    expect(kept.trim().split('\n')).toHaveLength(events.length - 5);
    const after = await eventsOf(uid);
    expect(after.slice(0, 5)).toEqual(events.slice(0, 5));
    expect(after[5]).toMatchObject({
      type: 'session/repaired',
      data: { cause: 'log-damaged', lost: events.length - 5, usedTurns: 3 },
    });
    await expectAllWorks();
  });

  it.each([
    ['an event is missing in it', 'delete from events where session_uid = ? and seq = 7'],
    ['its end is missing', 'delete from events where session_uid = ? and seq > 7'],
    ['an event is of another type', `update events set type = 'turn/end' where session_uid = ? and seq = 7`],
    [
      'an event is no valid one',
      `update events set type = 'session/title', data = '{}', checksum = null where session_uid = ? and seq = 7`,
    ],
    ['an event has another key', `update events set key = 'other' where session_uid = ? and seq = 7`],
    [
      'a letter of an event is another one',
      `update events set data = replace(data, 'e', 'f') where session_uid = ? and seq = 7`,
    ],
  ])('is cut where %s', async (_what, statement) => {
    const { uid, events } = session(5);
    home.sql(statement, [uid]);
    expect(await messages()).toContain('session-5: cut at event');
    expect((await eventsOf(uid)).slice(0, 7)).toEqual(events.slice(0, 7));
    await expectAllWorks();
  });

  it('is taken out where not even its beginning is whole, and its events are kept', async () => {
    const { uid } = session(3);
    home.sql(`update events set data = '{' where session_uid = ? and seq = 0`, [uid]);
    expect(await messages()).toContain('session-3: nothing of its log is whole');
    const [at = ''] = readdirSync(join(home.folder, 'cut-off'));
    expect(existsSync(join(home.folder, 'cut-off', at, `${uid}.jsonl`))).toBe(true);
    await expectAllWorks([uid]);
  });

  it('is cut where a content of the conversation is lost or is not what it was', async () => {
    for (const statement of [
      'delete from blobs where session_uid = ?',
      `update blobs set bytes = x'41' where session_uid = ?`,
    ]) {
      home.reset();
      const { uid, blobs } = session(2);
      expect(blobs.length).toBeGreaterThan(0);
      home.sql(statement, [uid]);
      expect((await home.examine()).sessions.message).toContain('session-2: a large content of event');
      expect(await messages()).toContain('session-2: cut at event');
      expect(home.sql('select * from blobs where session_uid = ?', [uid])).toEqual([]);
      await expectAllWorks();
    }
  });

  describe('in which prompts wait at the cut', () => {
    const waiting = async (): Promise<TestSession> => {
      const { id } = await home.withStore(async (store) => {
        const session = await TestSession.create(() => store);
        for (let n = 0; n < 3; n += 1) await session.prompt();
        return { id: session.uid };
      });
      return TestSession.of(() => opened, id);
    };
    let opened: SessionStore;
    const within = async (work: () => Promise<void>): Promise<void> => {
      await home.withStore(async (store) => {
        opened = store;
        await work();
      });
    };

    it('runs none of them twice, and gives no number of a turn twice', async () => {
      const session = await waiting();
      let cut = 0;
      await within(async () => {
        cut = (await session.state()).headSeq;
        for (let n = 0; n < 3; n += 1) await session.wholeTurn();
      });
      home.sql(`update events set data = '{' where session_uid = ? and seq = ?`, [session.uid, cut + 4]);
      expect(await messages()).toContain('2 prompts that waited before it may have been worked on since');
      await within(async () => {
        const state = await session.state();
        expect(state.inbox).toEqual({ nextTurn: [], nextStep: [] });
        expect(state.openTurn).toBeNull();
        expect(checkLog(await session.events())).toEqual([]);
        await session.prompt();
        expect((await session.state()).openTurn?.number).toBe(4);
        await session.wholeTurn();
        expect(checkLog(await session.events())).toEqual([]);
      });
      expect((await home.examine()).sessions.message).toContain('sessions are whole');
    });

    it('keeps those that nothing that was cut off has taken', async () => {
      const session = await waiting();
      let cut = 0;
      await within(async () => {
        await session.enter();
        cut = (await session.state()).headSeq + 1;
        await session.message();
        await session.end();
        await session.enter();
      });
      // What is cut off can be read, but for the state that it was written in.
      home.sql(
        `update events set type = 'session/title', data = '{}', checksum = null where session_uid = ? and seq = ?`,
        [session.uid, cut],
      );
      expect(await messages()).toContain('1 prompts that waited before it');
      await within(async () => {
        const { inbox, openTurn, lastTurn } = await session.state();
        expect(inbox.nextTurn).toHaveLength(1);
        expect(lastTurn).toBe(1);
        expect(openTurn).toMatchObject({ number: 3, started: false });
        await session.wholeTurn();
        expect(checkLog(await session.events())).toEqual([]);
      });
      expect((await home.examine()).sessions.message).toContain('sessions are whole');
    });
  });

  it('is left as it is where its repair dies after the cut', async () => {
    const { uid } = session(3);
    home.sql(`update events set data = '{' where session_uid = ? and seq = 5`, [uid]);
    const rows = () => ({
      events: home.sql('select * from events where session_uid = ? order by seq', [uid]),
      session: home.sql('select * from sessions where uid = ?', [uid]),
      turns: home.sql('select * from turns where session_uid = ?', [uid]),
    });
    const before = rows();
    const dies = (): never => {
      throw new Error('killed');
    };
    const repair = withDatabase(home.file, { readonly: false }, async (log: Kysely<LogTables>) => {
      const check = await checkSession(log, uid);
      if (check !== undefined) {
        await repairSession(log, check, { ids: { uuid: dies }, clock: dies, keep: () => undefined });
      }
    });
    await expect(repair).rejects.toThrow('killed');
    expect(rows()).toEqual(before);
  });

  it('is left as it is where another version wrote it', async () => {
    const { uid, events } = session(3);
    home.sql('update events set type = ?, checksum = null where session_uid = ? and seq = 5', [
      'session/from-the-future',
      uid,
    ]);
    const findings = await home.repair();
    expect(findings.map(({ status }) => status)).toContain('problem');
    expect(home.sql('select * from events where session_uid = ?', [uid])).toHaveLength(events.length);
  });

  it('is well where nothing is wrong, and is not touched', async () => {
    expect(await messages()).toBe('No session had to be mended.');
    for (const { uid, events } of whole.sessions) expect(await eventsOf(uid)).toEqual(events);
    await expectAllWorks();
  });

  it('is not touched while a server has the home', async () => {
    const { uid } = session(3);
    home.sql(`update events set data = '{' where session_uid = ? and seq = 5`, [uid]);
    const lock = acquireHomeLock(home.folder);
    try {
      const [finding] = await home.repair();
      expect(finding?.status).toBe('problem');
      expect(finding?.message).toContain('Stop it');
      expect((await home.examine()).sessions.status).toBe('problem');
    } finally {
      lock.release();
    }
  });
});

describe('a log of any kind', () => {
  it('is well, and cut before any of its events it is whole again and works', async () => {
    const logs = await home.withStore(async (store) => {
      const stored: SessionBefore[] = [];
      for (let seed = 1; seed <= 3; seed += 1) {
        const { events } = randomLog(seededRandom(seed), 3);
        for (let at = 1; at <= events.length; at += 1) {
          const id = `log-${String(seed)}-${String(at)}` as SessionId;
          stored.push(await readSession(store, await storeLog(store, events, id)));
        }
      }
      return stored;
    });
    expect((await home.examine()).sessions.message).toContain('sessions are whole');
    const cutAt = ({ id }: SessionBefore) => Number(id.split('-')[2]);
    for (const log of logs) {
      home.sql('delete from events where session_uid = ? and seq >= ?', [log.uid, cutAt(log)]);
    }
    const findings = await home.repair();
    expect(findings.map(({ status }) => status)).not.toContain('problem');
    expect((await home.examine()).sessions.message).toContain('sessions are whole');
    await home.withStore(async (store) => {
      for (const log of logs) {
        const events = await store.readEvents(log.uid, { limit: 10_000 });
        expect(commonLength(events, log.events), log.id).toBe(cutAt(log));
        await expectWorks(store, log);
      }
    });
  }, 60_000);
});

describe('rows that do not say what the log says', () => {
  it.each([
    ['the open turn', 'update sessions set open_turn = 99 where uid = ?'],
    ['the status', `update sessions set status = 'cancelling' where uid = ?`],
    ['the last event', 'update sessions set head_seq = 3 where uid = ?'],
    ['a turn', 'delete from turns where session_uid = ? and turn = 1'],
    ['how a turn ended', `update turns set summary = '{}' where session_uid = ? and turn = 1`],
    ['who asked', `update turns set request_ids = '["other"]' where session_uid = ? and turn = 1`],
    ['an ask', 'delete from approvals where session_uid = ?'],
    ['whether an ask is open', 'update approvals set closed_seq = 3 where session_uid = ?'],
    ['the metadata', 'delete from session_metadata where session_uid = ?'],
    ['a step that is over', 'update staged set turn = 1 where session_uid = ?'],
  ])('are found and made anew: %s', async (_what, statement) => {
    const { uid, events, turns } = session(4);
    home.sql(statement, [uid]);
    expect((await home.examine()).sessions.message).toContain('session-4: ');
    expect(await messages()).toContain('session-4: the lists were made anew from the log');
    expect(await eventsOf(uid)).toEqual(events);
    expect(await home.withStore((store) => store.listTurns(uid, { limit: 100 }))).toEqual(turns);
    await expectAllWorks();
  });

  it('keep who has the open turn and what its step has under way', async () => {
    const { uid } = session(4);
    const rows = () => ({
      turn: home.sql('select * from turns where session_uid = ? and turn = 5', [uid]),
      attempts: home.sql('select * from attempts where session_uid = ?', [uid]),
      staged: home.sql('select * from staged where session_uid = ?', [uid]),
      requests: home.sql('select * from requests where session_uid = ? order by request_id', [uid]),
    });
    const before = rows();
    expect(before.attempts).toHaveLength(1);
    expect(before.staged).toHaveLength(1);
    home.sql(`update sessions set status = 'idle' where uid = ?`, [uid]);
    await home.repair();
    expect(rows()).toEqual(before);
  });
});

describe('what belongs to no session', () => {
  it('is a session again where only its row is lost', async () => {
    const { uid, events } = session(3);
    home.sql('delete from sessions where uid = ?', [uid]);
    expect(await messages()).toContain(`${uid}: its row was lost and was made anew`);
    expect((await eventsOf(uid)).map(({ data }) => data)).toEqual(events.map(({ data }) => data));
    expect((await home.examine()).sessions.message).toContain('sessions are whole');
  });

  it('is taken out where a log has no beginning, and left alone where a deletion or an import has noted it', async () => {
    const [lost, noted] = [session(3).uid, session(5).uid];
    home.sql('delete from sessions where uid in (?, ?)', [lost, noted]);
    home.sql('delete from events where session_uid = ? and seq = 0', [lost]);
    home.sql('insert into leftovers (session_uid, due_at) values (?, ?)', [
      noted,
      '2999-01-01T00:00:00.000Z',
    ]);
    expect(await messages()).toContain('Rows of 1 sessions that are not there were taken out.');
    expect(home.sql('select * from events where session_uid = ?', [lost])).toEqual([]);
    expect(home.sql('select * from events where session_uid = ?', [noted])).not.toEqual([]);
    await expectAllWorks([lost, noted]);
  });

  it('goes, as frames that cannot be read do', async () => {
    const { uid } = session(4);
    home.sql(`update frames set chunks = '[{' where session_uid = ?`, [uid], home.frames);
    expect(await messages()).toContain('1 frames that cannot be read were taken out');
    await home.withStore((store) => store.readTail(uid, { seq: -1, frame: 0, limit: 1000 }));
  });
});

describe('a file that is damaged', () => {
  it('has its indexes made anew where only they are, and nothing is lost', async () => {
    const [start, size] = pageOf('sqlite_autoindex_sessions_1');
    const bytes = readFileSync(home.file);
    const at = bytes.indexOf(session(3).uid, start);
    expect(at).toBeLessThan(start + size);
    bytes.write('f', at);
    writeFileSync(home.file, bytes);
    expect((await home.examine()).store.message).toContain('turnkeeper doctor --repair');
    expect(await messages()).toContain('its indexes were made anew');
    expect(readdirSync(home.folder).filter((name) => /damaged-.*Z$/.test(name))).toHaveLength(1);
    for (const { uid, events } of whole.sessions) expect(await eventsOf(uid)).toEqual(events);
    await expectAllWorks();
  });

  it('gives the sessions their names back from the indexes where the page of their rows is lost', async () => {
    zeroPage('sessions');
    expect(await messages()).toContain('Rows are lost of: sessions.');
    for (const { uid, events } of whole.sessions) expect(await eventsOf(uid)).toEqual(events);
    await expectAllWorks();
  });

  it('opens to nobody where keys were in it that are lost', async () => {
    zeroPage('keys');
    expect(await messages()).toContain('API keys may be lost');
    await home.withStore(async ({ keys }) => {
      expect(await keys.exist()).toBe(true);
      expect((await keys.list()).map(({ revokedAt }) => revokedAt)).not.toContain(null);
    });
    await expectAllWorks();
  });

  it('that was cut in the middle of a page has what stands before, and what is left of the page is not believed', async () => {
    const { length } = readFileSync(home.file);
    for (let missing = 300; missing < 9000; missing += 800) {
      home.reset();
      writeFileSync(home.file, readFileSync(home.file).subarray(0, length - missing));
      expect((await home.repair()).map(({ status }) => status)).not.toContain('problem');
      await expectAllWorks();
    }
  });

  it('that an older version made is brought to this one', async () => {
    for (const statement of [
      'alter table events drop column checksum',
      'alter table turns drop column former_run_ids',
      'alter table turns add column owner_started_at bigint',
      'drop table liveness',
      `delete from log_migration where name = '0008-recovery'`,
    ]) {
      home.sql(statement);
    }
    expect(await home.examine()).toMatchObject({ store: { status: 'warning' }, sessions: { status: 'ok' } });
    zeroPage('approvals');
    expect(await messages()).toContain('all rows that can be read were copied');
    for (const { uid, events } of whole.sessions) expect(await eventsOf(uid)).toEqual(events);
    await expectAllWorks();
  });

  it('that a newer version made is not touched', async () => {
    home.sql(`insert into log_migration (name, timestamp) values ('9999-later', 'now')`);
    expect((await home.examine()).store).toMatchObject({ status: 'problem' });
    const [finding] = await home.repair();
    expect(finding).toMatchObject({ status: 'problem' });
    expect(finding?.message).toContain('newer version');
  });

  it('that is gone is not taken for one that was never there', async () => {
    rmSync(home.file);
    expect((await home.examine()).store).toMatchObject({ status: 'problem' });
    await expect(home.withStore(() => Promise.resolve())).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('was there once') as string,
    });
    expect(existsSync(home.file)).toBe(false);
  });

  it('of which nothing can be had is left where it is, and it is said what to do', async () => {
    writeFileSync(home.file, 'This is a text and no database.'.repeat(100));
    const [finding] = await home.repair();
    expect(finding).toMatchObject({ status: 'problem' });
    expect(finding?.message).toContain('Restore a backup');
    expect(readFileSync(home.file, 'utf8')).toContain('This is a text');
    expect(readdirSync(home.folder).filter((name) => /salvage|damaged-/.test(name))).toEqual([]);
  });

  /** Where the first page of a table or an index begins, and its length. */
  function pageOf(name: string): readonly [number, number] {
    const [{ rootpage }] = home.sql('select rootpage from sqlite_master where name = ?', [name]) as [
      { rootpage: number },
    ];
    const [{ page_size: size }] = home.sql('pragma page_size') as [{ page_size: number }];
    return [(rootpage - 1) * size, size];
  }

  function zeroPage(name: string): void {
    const [start, size] = pageOf(name);
    writeFileSync(home.file, readFileSync(home.file).fill(0, start, start + size));
  }
});
