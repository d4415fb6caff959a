/** A disk that is full for this very process, which writes nothing else meanwhile. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionStore } from '../../src/store/session-store.js';
import { fillDisk, freeDisk, hasPrlimit } from '../support/full-disk.js';
import { expectCode, TestSession, title } from './session-store/store-fixture.js';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.js';

let sqlite: TemporarySqlite;
let store: SessionStore;
let session: TestSession;

beforeEach(async () => {
  sqlite = await openTemporarySqlite();
  store = sqlite.store;
  session = await TestSession.create(() => store);
  await session.prompt();
  await session.enter();
});
afterEach(async () => {
  freeDisk(process.pid);
  await sqlite.close();
});

describe.skipIf(!hasPrlimit())('a store whose disk is full', () => {
  it('refuses whatever writes as STORE_UNAVAILABLE, is read, and goes on from where it was', async () => {
    const attempt = await session.attempt();
    const before = await session.events();
    fillDisk(process.pid);
    for (let time = 0; time < 3; time += 1) {
      await expectCode(session.append(title('full')), 'STORE_UNAVAILABLE');
      await expectCode(session.prompt('queue'), 'STORE_UNAVAILABLE');
      await expectCode(
        store.transact(session.uid, (each) => each.append([title('full')]), { durability: 'relaxed' }),
        'STORE_UNAVAILABLE',
      );
      await expectCode(session.frame(attempt, 'full'), 'STORE_UNAVAILABLE');
      await expectCode(
        TestSession.create(() => store),
        'STORE_UNAVAILABLE',
      );
      await expectCode(store.deleteSession(session.uid), 'STORE_UNAVAILABLE');
      await expectCode(store.liveness.markAlive(new Date().toISOString()), 'STORE_UNAVAILABLE');
    }
    expect(await session.events()).toEqual(before);
    expect(await session.state()).toMatchObject({ headSeq: before.length - 1 });
    freeDisk(process.pid);
    await session.frame(attempt, 'freed');
    await session.append(title('freed'));
    expect(await session.events()).toHaveLength(before.length + 1);
    store = await sqlite.reopen();
    expect(await session.events()).toHaveLength(before.length + 1);
  });

  it('does not say that it is there until something was written again', async () => {
    expect(await store.ping()).toBe(true);
    fillDisk(process.pid);
    await expectCode(session.append(title('full')), 'STORE_UNAVAILABLE');
    expect(await store.ping()).toBe(false);
    freeDisk(process.pid);
    await store.liveness.markAlive(new Date().toISOString());
    expect(await store.ping()).toBe(true);
  });
});
