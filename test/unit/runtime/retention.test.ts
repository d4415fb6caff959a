import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionUid } from '../../../src/contract/ids.js';
import { startRetention, type Retention, type RetentionDeps } from '../../../src/runtime/retention.js';
import type { SessionStore } from '../../../src/store/session-store.js';
import { openSqliteStore } from '../../../src/store/sqlite/open.js';
import { TestSession } from '../../contract/session-store/store-fixture.js';
import { makeDatabaseFolder } from '../../support/database-folder.js';

const DAY_MS = 86_400_000;

let folder: string;
let now: number;
let store: SessionStore;
const started: Retention[] = [];
/** What was asked for, in its order. */
let told: string[];
/** The sessions that the engine still has workflows of. */
let remembered: Set<SessionUid>;

beforeEach(async () => {
  folder = makeDatabaseFolder('turnkeeper-retention-');
  now = Date.parse('2026-01-01T00:00:00.000Z');
  told = [];
  remembered = new Set();
  store = await openSqliteStore({ path: join(folder, 'sessions.db'), clock: () => now });
});
afterEach(async () => {
  for (const retention of started.splice(0)) await retention.stop();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Started, with its first round behind it. */
async function start(changes: Partial<RetentionDeps> = {}): Promise<Retention> {
  const retention = startRetention({
    store,
    histories: {
      forgetSession: (uid) => {
        told.push(`forget ${uid}`);
        return Promise.resolve(!remembered.has(uid));
      },
    },
    clock: () => now,
    logger: pino({ level: 'silent' }),
    isEngineUp: () => true,
    sessionsAfterDays: 30,
    deleteSession: ({ uid }, unchangedSince) => store.deleteSession(uid, { unchangedSince }),
    removeFolders: (uid) => {
      told.push(`folders ${uid}`);
      return Promise.resolve();
    },
    intervalMs: 1_000_000,
    ...changes,
  });
  started.push(retention);
  await retention.run();
  return retention;
}

const newSession = () => TestSession.create(() => store);
const isThere = async ({ uid }: TestSession) => (await store.findSessionByUid(uid)) !== undefined;

describe('old sessions', () => {
  it('go when nothing was done in them for so many days, to the millisecond, and no others', async () => {
    const [old, used, busy] = [await newSession(), await newSession(), await newSession()];
    await busy.prompt();
    const retention = await start();
    now += 20 * DAY_MS;
    await used.append({ type: 'session/title', data: { title: 'new', source: 'user' } });
    now += 10 * DAY_MS - 1;
    await retention.run();
    expect(await isThere(old)).toBe(true);
    now += 1;
    await retention.run();
    expect([await isThere(old), await isThere(used), await isThere(busy)]).toEqual([false, true, true]);
    now += 365 * DAY_MS;
    await retention.run();
    expect([await isThere(used), await isThere(busy)]).toEqual([false, true]);
  });

  it('stay for ever where nothing is said, and half a day counts', async () => {
    const session = await newSession();
    const forever = await start({ sessionsAfterDays: null });
    now += 10_000 * DAY_MS;
    await forever.run();
    expect(await isThere(session)).toBe(true);
    const other = await newSession();
    now += DAY_MS;
    await start({ sessionsAfterDays: 1.5 });
    expect([await isThere(session), await isThere(other)]).toEqual([false, true]);
  });

  it('go all, however many there are, and one that cannot go stands in no other one’s way', async () => {
    const sessions: TestSession[] = [];
    for (let n = 0; n < 130; n++) sessions.push(await newSession());
    now += 31 * DAY_MS;
    const kept = sessions.slice(0, 5).map(({ uid }) => uid);
    await start({
      deleteSession: async ({ uid }, unchangedSince) =>
        !kept.includes(uid) && store.deleteSession(uid, { unchangedSince }),
    });
    const left = await store.listSessions({ tenant: 'tenant', limit: 1000 });
    expect(left.map(({ uid }) => uid).sort()).toEqual([...kept].sort());
  });

  it('go once where two servers see to it', async () => {
    for (let n = 0; n < 20; n++) await newSession();
    now += 31 * DAY_MS;
    let deleted = 0;
    const deleteSession: RetentionDeps['deleteSession'] = async ({ uid }, unchangedSince) => {
      const isDeleted = await store.deleteSession(uid, { unchangedSince });
      if (isDeleted) deleted += 1;
      return isDeleted;
    };
    await Promise.all([start({ deleteSession }), start({ deleteSession })]);
    expect(deleted).toBe(20);
  });
});

describe('what a deletion leaves behind', () => {
  it('is removed a minute later, from the folders first and from the engine until it has forgotten', async () => {
    const { uid } = await newSession();
    remembered.add(uid);
    const retention = await start();
    await store.deleteSession(uid);
    await retention.run();
    expect(told).toEqual([]);
    now += 60_000;
    await retention.run();
    await retention.run();
    expect(told).toEqual([`folders ${uid}`, `forget ${uid}`]);
    remembered.delete(uid);
    now += 60_000;
    await retention.run();
    expect(told).toHaveLength(4);
    now += DAY_MS;
    await retention.run();
    expect(told).toHaveLength(4);
  });

  it('waits for an engine that is away, and is found again by the next process', async () => {
    const { uid } = await newSession();
    await store.deleteSession(uid);
    now += 60_000;
    const away = await start({ isEngineUp: () => false });
    expect(told).toEqual([]);
    await away.stop();
    await store.close();
    store = await openSqliteStore({ path: join(folder, 'sessions.db'), clock: () => now });
    await start();
    expect(told).toEqual([`folders ${uid}`, `forget ${uid}`]);
    expect(await store.retention.leftovers(10)).toEqual([]);
  });

  it('is tried again where it fails, and others are seen to meanwhile', async () => {
    const [first, second] = [await newSession(), await newSession()];
    await store.deleteSession(first.uid);
    await store.deleteSession(second.uid);
    now += 60_000;
    let isBroken = true;
    const retention = await start({
      removeFolders: (uid) =>
        uid === first.uid && isBroken ? Promise.reject(new Error('in use')) : Promise.resolve(),
    });
    expect(told).toEqual([`forget ${second.uid}`]);
    isBroken = false;
    now += 60_000;
    await retention.run();
    expect(told).toEqual([`forget ${second.uid}`, `forget ${first.uid}`]);
    expect(await store.retention.leftovers(10)).toEqual([]);
  });

  it('never stops the server: a store that is away is asked again', async () => {
    const { uid } = await newSession();
    await store.deleteSession(uid);
    now += 60_000;
    let isAway = true;
    const retention = await start({
      store: {
        retention: new Proxy(store.retention, {
          get: (target, name) => {
            if (isAway) return () => Promise.reject(new Error('away'));
            const value = Reflect.get(target, name) as (...args: unknown[]) => unknown;
            return value.bind(target);
          },
        }),
      },
    });
    isAway = false;
    await retention.run();
    expect(told).toEqual([`folders ${uid}`, `forget ${uid}`]);
  });
});
