/** What is old, what may be left of what was deleted, and that a deletion which dies in the middle is made good. */
import { describe, expect, it } from 'vitest';
import { useStore, type OpenStore, type TestSession } from './store-fixture.js';

const later = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString();

async function framesOf(session: TestSession) {
  const { headFrame } = await session.store.readTail(session.uid, { seq: -1, frame: 0, limit: 10 });
  return headFrame;
}

export function describeRetention(open: OpenStore): void {
  describe('retention', () => {
    const fixture = useStore(open);
    const idle = async (unchangedSince: string, limit = 10) =>
      (await fixture.store.retention.idleSessions({ unchangedSince, limit })).map(({ uid }) => uid);

    it('names the sessions of all tenants that rest, the oldest first, and none in which a turn is open', async () => {
      const [first, busy, second] = [
        await fixture.session('one'),
        await fixture.session('one'),
        await fixture.session('two'),
      ];
      await busy.prompt();
      const now = later((await second.record()).updatedAt, 1);
      expect(new Set(await idle(now))).toEqual(new Set([first.uid, second.uid]));
      expect(await idle(now, 1)).toHaveLength(1);
      expect(await idle(later((await first.record()).updatedAt, -1))).toEqual([]);
      await busy.wholeTurn();
      expect(await idle(later((await busy.record()).updatedAt, 0))).toContain(busy.uid);
    });

    it('deletes a session that is as it was, and leaves one that has changed or is at work', async () => {
      const [resting, changed, busy] = [
        await fixture.session(),
        await fixture.session(),
        await fixture.session(),
      ];
      const unchangedSince = (await resting.record()).updatedAt;
      await changed.append({ type: 'session/title', data: { title: 'new', source: 'user' } });
      await busy.prompt();
      const long = later(unchangedSince, 3_600_000);
      const { updatedAt } = await changed.record();
      const before = later(updatedAt, -1);
      expect(await fixture.store.deleteSession(busy.uid, { unchangedSince: long })).toBe(false);
      expect(await fixture.store.deleteSession(changed.uid, { unchangedSince: before })).toBe(false);
      expect(await changed.events()).toHaveLength(2);
      expect(await fixture.store.deleteSession(resting.uid, { unchangedSince: long })).toBe(true);
      expect(await fixture.store.deleteSession(resting.uid, { unchangedSince: long })).toBe(false);
      expect(await fixture.store.findSessionByUid(busy.uid)).toBeDefined();
    });

    it('names what was just deleted only later, when what was under way has come to rest', async () => {
      const session = await fixture.session();
      await fixture.store.deleteSession(session.uid);
      expect(await fixture.store.retention.leftovers(10)).toEqual([]);
    });

    it('drops the frames of turns that have ended, and keeps those of the open one', async () => {
      const [ended, running] = [await fixture.session(), await fixture.session()];
      for (const session of [ended, running]) {
        await session.prompt();
        await session.enter();
        await session.frame(await session.attempt(), 'shown');
      }
      await ended.message();
      await ended.end();
      expect(await fixture.store.retention.dropStrayFrames()).toBe(1);
      expect(await fixture.store.retention.dropStrayFrames()).toBe(0);
      const shown = await running.store.readTail(running.uid, { seq: -1, frame: 0, limit: 100 });
      expect(shown.frames).toHaveLength(1);
      // The number goes on from where it was: cursors of readers stay good.
      expect(await framesOf(ended)).toBe(1);
    });

    it('clears what is left of a session that is gone, and never what a session has that is there', async () => {
      const session = await fixture.session();
      await session.prompt();
      const before = await session.events();
      await fixture.store.retention.clearLeftovers(session.uid);
      expect(await session.events()).toEqual(before);
      await fixture.store.deleteSession(session.uid);
      await fixture.store.retention.clearLeftovers(session.uid);
      expect(await fixture.store.retention.leftovers(10)).toEqual([]);
    });

    it('gives space back for as long as there is some', async () => {
      const session = await fixture.session();
      for (let n = 0; n < 20; n++) {
        await session.transact((transaction) =>
          transaction.saveBlob(new Uint8Array(500_000).fill(n), 'application/octet-stream'),
        );
      }
      await fixture.store.deleteSession(session.uid);
      for (let turns = 0; await fixture.store.retention.reclaimSpace(); turns++)
        expect(turns).toBeLessThan(50);
      expect(await fixture.store.retention.reclaimSpace()).toBe(false);
    });
  });
}
