/** The log's file damaged anywhere, and what the doctor makes of it. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import type { SessionUid } from '../../src/contract/ids.js';
import { loadConfiguration } from '../../src/runtime/configuration/load-configuration.js';
import type { Finding } from '../../src/runtime/doctor/check.js';
import { repairLog } from '../../src/runtime/doctor/repair-log.js';
import { sessionsCheck } from '../../src/runtime/doctor/sessions-check.js';
import { storeCheck } from '../../src/runtime/doctor/store-check.js';
import { StoreError, type SessionStore } from '../../src/store/session-store.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { checkLog } from '../support/log-invariants.js';
import { seededRandom } from '../unit/model/seeded-random.js';
import { TestSession, title } from './session-store/store-fixture.js';

const SEEDS = 150;

let original: string;
let whole: Map<SessionUid, readonly SessionEvent[]>;
beforeAll(async () => {
  original = join(mkdtempSync(join(tmpdir(), 'turnkeeper-damage-')), 'sessions.db');
  const store = await openSqliteStore({ path: original, clock: Date.now });
  whole = new Map();
  for (let n = 0; n < 6; n += 1) {
    const session = await TestSession.create(() => store);
    for (let turn = 0; turn <= n; turn += 1) {
      await session.prompt();
      await session.enter();
      await session.message(turn % 3, {});
      if (turn < n || n % 2 === 0) await session.append(...[title(`title ${String(turn)}`)]);
      if (turn < n && turn % 3 === 0) await session.end();
      else break;
    }
    whole.set(session.uid, await session.events());
  }
  await store.close();
});
afterAll(() => {
  rmSync(join(original, '..'), { recursive: true });
});

let home: string;
let file: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-home-')));
  file = join(home, 'sessions.db');
  copyFileSync(original, file);
});
afterEach(() => {
  rmSync(home, { recursive: true });
});

const configuration = () => loadConfiguration({ flags: { home }, env: {} }).configuration;
const context = () => ({ configuration: configuration(), env: {} });
const sql = (statement: string, ...values: unknown[]) => {
  const database = new Database(file);
  try {
    database.prepare(statement).run(...values);
  } finally {
    database.close();
  }
};

async function repair(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of repairLog(configuration())) findings.push(finding);
  return findings;
}

async function withStore<T>(work: (store: SessionStore) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({ path: file, clock: Date.now });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Everything that is told of a session is the beginning of what it was, or is refused with a reason. */
async function expectNothingWrong(store: SessionStore): Promise<void> {
  for (const [uid, events] of whole) {
    try {
      const read = await store.readEvents(uid, { limit: 10_000 });
      expect(JSON.stringify(events).startsWith(JSON.stringify(read).slice(0, -1))).toBe(true);
      await store.readState(uid);
    } catch (error) {
      expect(error).toBeInstanceOf(StoreError);
    }
  }
}

/** Every session that is left is the beginning of what it was, with what closes it, and works. */
async function expectAllWorks(store: SessionStore): Promise<number> {
  const left = await store.listSessions({ tenant: 'tenant', limit: 1000 });
  for (const { uid } of left) {
    const events = await store.readEvents(uid, { limit: 10_000 });
    const before = whole.get(uid) ?? [];
    const same = events.findIndex((event, seq) => JSON.stringify(event) !== JSON.stringify(before[seq]));
    const added = same === -1 ? [] : events.slice(same);
    if (added.length > 0) expect(added.at(-1)?.type).toBe('session/repaired');
    expect(checkLog(events, { mayRun: true })).toEqual([]);
    const session = TestSession.of(() => store, uid);
    await session.prompt();
    expect((await session.state()).openTurn).not.toBeNull();
  }
  return left.length;
}

describe('a database that is damaged anywhere', () => {
  it('is read as far as it is whole or refused with a reason, and mended with what can be had of it', async () => {
    const bytes = readFileSync(original);
    let mended = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = seededRandom(seed);
      writeFileSync(file, damaged(bytes, random));
      for (const name of readdirSync(home))
        if (name !== 'sessions.db') rmSync(join(home, name), { recursive: true });
      let store: SessionStore | undefined;
      try {
        store = await openSqliteStore({ path: file, clock: Date.now });
        await expectNothingWrong(store);
      } catch (error) {
        expect(error).toBeInstanceOf(StoreError);
      } finally {
        await store?.close();
      }
      const findings = await repair();
      if (findings.some(({ status }) => status === 'problem')) continue;
      mended += 1;
      await withStore(expectAllWorks);
    }
    // A first page that is destroyed leaves nothing; that happens now and then, and not mostly.
    expect(mended).toBeGreaterThan(SEEDS / 2);
  }, 120_000);
});

/** Flipped bits, a zeroed or random stretch, or a cut, anywhere or at a page. */
function damaged(bytes: Buffer, random: () => number): Buffer {
  const copy = Buffer.from(bytes);
  const page = 4096;
  const anywhere = Math.floor(random() * copy.length);
  const at = random() < 0.5 ? anywhere : anywhere - (anywhere % page);
  const kind = Math.floor(random() * 4);
  if (kind === 0) return copy.subarray(0, Math.max(page, at));
  if (kind === 1) copy.fill(0, at, Math.min(at + page, copy.length));
  if (kind === 2)
    for (let n = at; n < Math.min(at + 64, copy.length); n += 1) copy[n] = Math.floor(random() * 256);
  if (kind === 3) copy[at] = (copy[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  return copy;
}

describe('a log that is damaged', () => {
  const victim = (): SessionUid => [...whole.keys()].at(-1) ?? ('' as SessionUid);

  it('is named by the doctor, cut to its last whole state where it is told to, and what was cut is kept', async () => {
    sql('update events set data = ? where session_uid = ? and seq = 5', '{"title": 7', victim());
    const before = await sessionsCheck.run(context());
    expect(before.status).toBe('problem');
    expect(before.message).toContain('turnkeeper doctor --repair');
    const findings = await repair();
    expect(findings.map(({ message }) => message).join()).toContain('cut at event 5');
    expect((await sessionsCheck.run(context())).message).toContain('are whole');
    const [kept] = readdirSync(join(home, 'cut-off'));
    expect(readFileSync(join(home, 'cut-off', kept ?? ''), 'utf8')).toContain('{\\"title\\": 7');
    await withStore(async (store) => {
      const events = await store.readEvents(victim(), { limit: 1000 });
      expect(events.slice(0, 5)).toEqual(whole.get(victim())?.slice(0, 5));
      expect(events.at(-1)).toMatchObject({ type: 'session/repaired', data: { cause: 'log-damaged' } });
      expect(await expectAllWorks(store)).toBe(whole.size);
    });
  });

  it('has its lists made anew where they say something else', async () => {
    sql('update sessions set open_turn = 99, status = ? where uid = ?', 'running', victim());
    sql('delete from turns where session_uid = ?', victim());
    expect((await sessionsCheck.run(context())).message).toContain('the open turn is 99 in the list');
    await repair();
    expect((await sessionsCheck.run(context())).message).toContain('are whole');
    await withStore(async (store) => {
      expect(await store.readEvents(victim(), { limit: 1000 })).toEqual(whole.get(victim()));
      expect((await store.listTurns(victim(), { limit: 100 })).length).toBeGreaterThan(0);
    });
  });

  it('is left as it is where another version wrote it', async () => {
    sql(
      'update events set type = ?, checksum = null where session_uid = ? and seq = 5',
      'session/from-the-future',
      victim(),
    );
    const findings = await repair();
    expect(findings.some(({ status }) => status === 'problem')).toBe(true);
    expect(existsSync(join(home, 'cut-off'))).toBe(false);
  });

  it('is well where nothing is wrong, and is not touched', async () => {
    expect((await storeCheck.run(context())).status).toBe('ok');
    expect((await sessionsCheck.run(context())).message).toContain('are whole');
    expect((await repair()).map(({ message }) => message)).toEqual(['No session had to be mended.']);
    await withStore(async (store) => {
      for (const [uid, events] of whole) expect(await store.readEvents(uid, { limit: 1000 })).toEqual(events);
    });
  });
});
