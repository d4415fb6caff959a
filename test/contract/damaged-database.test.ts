/** The files of the log damaged anywhere: what is read of them, what the doctor sees, and what it makes of them. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreError, type SessionStore } from '../../src/store/session-store.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { seededRandom } from '../unit/model/seeded-random.js';
import { DamagedHome, expectWorks, makeWholeLog, type WholeLog } from './damaged-home.js';

/** `TURNKEEPER_TEST_DAMAGES` makes it more. */
const SEEDS = Number(process.env.TURNKEEPER_TEST_DAMAGES ?? 150);
const PAGE_BYTES = 4096;

let whole: WholeLog;
let home: DamagedHome;
beforeAll(async () => {
  whole = await makeWholeLog();
  home = new DamagedHome(whole);
});
afterAll(() => {
  home.remove();
  rmSync(whole.folder, { recursive: true });
});

/** Flipped bits, a zeroed or random stretch, or a cut, anywhere or at a page. */
function damaged(bytes: Buffer, random: () => number): Buffer {
  const copy = Buffer.from(bytes);
  const anywhere = Math.floor(random() * copy.length);
  const at = random() < 0.5 ? anywhere : anywhere - (anywhere % PAGE_BYTES);
  switch (Math.floor(random() * 4)) {
    case 0:
      return copy.subarray(0, at);
    case 1:
      return copy.fill(0, at, Math.min(at + PAGE_BYTES, copy.length));
    case 2:
      for (let n = at; n < Math.min(at + 64, copy.length); n += 1) copy[n] = Math.floor(random() * 256);
      return copy;
    default:
      copy[at] = (copy[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      return copy;
  }
}

/** Damages one file of the home, and most often that of the log. */
function damageOne(seed: number): string {
  const random = seededRandom(seed);
  const died = seed % 5 === 4;
  home.reset(died);
  const file = died ? `${home.file}-wal` : seed % 5 === 3 ? home.frames : home.file;
  writeFileSync(file, damaged(readFileSync(file), random));
  return `seed ${String(seed)}, ${basename(file)}`;
}

/** A reason, and not a crash. */
async function refused(work: () => Promise<void>, where: string): Promise<StoreError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreError)) throw new Error(`${where}: no reason is given`, { cause: error });
    return error;
  }
}

/** All that is told of a session is what it was, or the beginning of it; or it is refused with a reason. */
async function expectNothingWrong(store: SessionStore, where: string): Promise<void> {
  for (const { uid, events, state, blobs } of whole.sessions) {
    const known = (await store.findSessionByUid(uid).catch(() => undefined))?.headSeq ?? -1;
    await refused(async () => {
      const read = await store.readEvents(uid, { limit: 10_000 });
      expect(
        read.map((event) => ({ ...event, sessionId: '' })),
        where,
      ).toEqual(events.slice(0, read.length).map((event) => ({ ...event, sessionId: '' })));
    }, where);
    await refused(async () => {
      const read = await store.readState(uid);
      if (known === state.headSeq) {
        expect({ ...read, sessionId: '' }, where).toEqual({ ...state, sessionId: '' });
      }
    }, where);
    for (const sha256 of blobs) {
      await refused(async () => {
        await store.readBlob(uid, sha256);
      }, where);
    }
    await refused(async () => {
      await store.listTurns(uid, { limit: 100 });
      await store.readTail(uid, { seq: -1, frame: 0, limit: 1000 });
    }, where);
  }
}

/** Where the doctor has nothing to say everything is as it was, but for what is in no log. */
async function expectAllAsItWas(store: SessionStore, where: string): Promise<void> {
  for (const { uid, events, turns } of whole.sessions) {
    const read = await store.readEvents(uid, { limit: 10_000 });
    // What was committed last may be gone with the end of a WAL.
    expect(
      events.slice(0, read.length).map(({ data }) => data),
      where,
    ).toEqual(read.map(({ data }) => data));
    if (read.length < events.length) continue;
    const listed = await store.listTurns(uid, { limit: 100 });
    const named = ({ turn, ended, reason, output, usage, requestIds }: (typeof turns)[number]) => ({
      ...{ turn, ended, reason, output, usage, requestIds },
    });
    expect(listed.map(named), where).toEqual(turns.map(named));
  }
}

describe('a log whose files are damaged anywhere', () => {
  it('is read as far as it is whole or refused with a reason, and mended with what can be had of it', async () => {
    const count = { refused: 0, seen: 0, mended: 0, lost: 0, sessions: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const where = damageOne(seed);
      const examined = await home.examine();
      const isSeen = [examined.store, examined.sessions].some(({ status }) => status === 'problem');
      if (isSeen) count.seen += 1;
      const refusal = await refused(async () => {
        const store = await openSqliteStore({ path: home.file, clock: Date.now });
        try {
          await expectNothingWrong(store, where);
          if (!isSeen) await expectAllAsItWas(store, where);
        } finally {
          await store.close();
        }
      }, where);
      if (refusal !== undefined) {
        count.refused += 1;
        expect(refusal.message, where).toContain('turnkeeper doctor --repair');
      }
      damageOne(seed);
      const findings = await home.repair();
      if (findings.some(({ status }) => status === 'problem')) {
        count.lost += 1;
        continue;
      }
      count.mended += 1;
      await home.withStore(async (store) => {
        for (const { uid } of await store.listSessions({ tenant: 'tenant', limit: 1000 })) {
          const before = whole.sessions.find((session) => session.uid === uid);
          if (before === undefined) throw new Error(`${where}: ${uid} was no session.`);
          await expectWorks(store, before, where.endsWith('-wal'));
          count.sessions += 1;
        }
      });
      const after = await home.examine();
      expect(
        [after.store.status, after.sessions.status],
        `${where}: ${after.sessions.message}`,
      ).not.toContain('problem');
    }
    // A first page that is destroyed leaves nothing; that happens now and then, and not mostly.
    expect(count.lost, JSON.stringify(count)).toBeLessThan(SEEDS / 5);
    expect(count.seen, JSON.stringify(count)).toBeLessThan(SEEDS);
    expect(count.sessions, JSON.stringify(count)).toBeGreaterThan(count.mended * whole.sessions.length * 0.8);
  }, 590_000);
});
