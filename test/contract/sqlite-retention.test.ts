/** What the contract suite cannot see of SQLite: its files, both of its databases, and a clock that goes on for minutes. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { SessionId, SessionUid } from '../../src/contract/ids.js';
import type { SessionStore } from '../../src/store/session-store.js';
import { framesPath, openSqliteStore } from '../../src/store/sqlite/open.js';
import { makeDatabaseFolder } from '../support/database-folder.js';
import { TestSession } from './session-store/store-fixture.js';

const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;

let folder: string;
let path: string;
let now: number;
let store: SessionStore;
const open = () => openSqliteStore({ path, clock: () => now });
const newSession = () => TestSession.create(() => store);

beforeEach(async () => {
  folder = makeDatabaseFolder('turnkeeper-retention-');
  path = join(folder, 'sessions.db');
  now = Date.parse('2026-01-01T00:00:00.000Z');
  store = await open();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs SQL beside the store. */
function sql<T>(file: string, statement: string, values: readonly unknown[] = []): T[] {
  const database = new Database(file);
  try {
    const prepared = database.prepare(statement);
    if (prepared.reader) return prepared.all(...values) as T[];
    prepared.run(...values);
    return [];
  } finally {
    database.close();
  }
}

const frameRows = (uid: SessionUid) =>
  ['frames', 'frame_heads'].flatMap((table) =>
    sql(framesPath(path), `select * from ${table} where session_uid = ?`, [uid]),
  );

describe('a deletion that dies between the two databases', () => {
  async function dyingDeletion(): Promise<TestSession> {
    const session = await newSession();
    await session.prompt();
    await session.enter();
    await session.frame(await session.attempt(), 'shown');
    const rows = frameRows(session.uid) as Record<string, unknown>[];
    await store.deleteSession(session.uid);
    // As the file of the frames is where the process dies before it comes to them.
    for (const row of rows) {
      const table = 'chunks' in row ? 'frames' : 'frame_heads';
      const columns = Object.keys(row);
      const values = `(${columns.join()}) values (${columns.map(() => '?').join()})`;
      sql(framesPath(path), `insert into ${table} ${values}`, Object.values(row));
    }
    expect(frameRows(session.uid)).toHaveLength(2);
    return session;
  }

  it('is finished by the next start', async () => {
    const { uid } = await dyingDeletion();
    await store.close();
    store = await open();
    expect(await store.retention.dropStrayFrames()).toBe(1);
    expect(frameRows(uid)).toEqual([]);
  });

  it('is finished by whoever clears what was left, a minute later, and asks again where that fails too', async () => {
    const { uid } = await dyingDeletion();
    now += MINUTE_MS;
    expect(await store.retention.leftovers(10)).toEqual([uid]);
    await store.retention.postponeLeftovers(uid);
    expect(await store.retention.leftovers(10)).toEqual([]);
    now += MINUTE_MS;
    expect(await store.retention.leftovers(10)).toEqual([uid]);
    await store.retention.clearLeftovers(uid);
    expect(frameRows(uid)).toEqual([]);
    expect(await store.retention.leftovers(10)).toEqual([]);
  });

  it('has happened all the same where the frames cannot be dropped', async () => {
    const session = await newSession();
    await session.prompt();
    await session.enter();
    await session.frame(await session.attempt(), 'shown');
    const other = new Database(framesPath(path));
    other.exec('begin immediate');
    const told: unknown[] = [];
    store.watch(session.uid, (notice) => told.push(notice.kind));
    const deleted = store.deleteSession(session.uid);
    expect(await deleted).toBe(true);
    expect(told).toEqual(['deleted']);
    other.exec('rollback');
    other.close();
    expect(frameRows(session.uid)).toHaveLength(2);
    await store.retention.clearLeftovers(session.uid);
    expect(frameRows(session.uid)).toEqual([]);
  });
});

describe('an import of which nothing more comes', () => {
  it('is given up after ten minutes, and leaves no row', async () => {
    const session = await newSession();
    const entries = await store.archive.read(session.uid, { after: -1, upTo: 0, limit: 10 });
    const uid = uuidv7() as SessionUid;
    const work = await store.archive.beginImport({ tenant: 'tenant', id: 'copy' as SessionId, uid });
    now += 9 * MINUTE_MS;
    await work.add(entries);
    now += 9 * MINUTE_MS;
    expect(await store.retention.leftovers(10)).toEqual([]);
    now += MINUTE_MS;
    expect(await store.retention.leftovers(10)).toEqual([uid]);
    await store.retention.clearLeftovers(uid);
    expect(sql(path, 'select * from events where session_uid = ?', [uid])).toEqual([]);
    await expect(work.commit(() => Promise.resolve())).rejects.toMatchObject({ code: 'INVALID_EVENT' });
    expect(await store.findSessionByUid(uid)).toBeUndefined();
  });
});

describe('the files', () => {
  async function fill(session: TestSession, mib: number): Promise<void> {
    for (let n = 0; n < mib; n++) {
      const bytes = Buffer.alloc(MIB, n);
      await session.transact((transaction) => transaction.saveBlob(bytes, 'application/octet-stream'));
    }
  }
  const checkpoint = () => sql(path, 'pragma wal_checkpoint(truncate)');

  it('give back the space of a deleted session', async () => {
    const [kept, gone] = [await newSession(), await newSession()];
    await fill(gone, 30);
    await fill(kept, 2);
    checkpoint();
    expect(statSync(path).size).toBeGreaterThan(30 * MIB);
    await store.deleteSession(gone.uid);
    while (await store.retention.reclaimSpace()) continue;
    checkpoint();
    expect(statSync(path).size).toBeLessThan(4 * MIB);
    expect(await kept.events()).toHaveLength(1);
    expect(await store.archive.blobs(kept.uid)).toHaveLength(2);
  });

  it('stay as they are where they were made without that, and their space is used again', async () => {
    await store.close();
    const database = new Database(path);
    database.pragma('auto_vacuum = none');
    database.exec('vacuum');
    database.close();
    store = await open();
    const session = await newSession();
    await fill(session, 5);
    await store.deleteSession(session.uid);
    expect(await store.retention.reclaimSpace()).toBe(false);
    checkpoint();
    const { size } = statSync(path);
    await fill(await newSession(), 5);
    checkpoint();
    expect(statSync(path).size).toBeLessThan(size + MIB);
  });

  it('have a journal that does not keep the size of its largest burst', async () => {
    const session = await newSession();
    await session.transact(async (transaction) => {
      for (let n = 0; n < 40; n++)
        await transaction.saveBlob(Buffer.alloc(MIB, n), 'application/octet-stream');
    });
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(40 * MIB);
    for (let n = 0; n < 50; n++) {
      await session.append({ type: 'session/title', data: { title: String(n), source: 'user' } });
    }
    expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(17 * MIB);
  });
});
