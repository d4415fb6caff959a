/** Notification: after the commit, to who listens, and without any power over the store. */
import { describe, expect, it } from 'vitest';
import type { StoreNotice } from '../../../src/store/session-store.js';
import { title, useStore, type OpenStore } from './store-fixture.js';

export function describeNotices(open: OpenStore): void {
  describe('a notice', () => {
    const fixture = useStore(open);

    it('comes after the commit: what it tells of can be read at once', async () => {
      const session = await fixture.session();
      const seen: Promise<number>[] = [];
      fixture.store.watch(session.uid, (notice) => {
        if (notice.kind !== 'events') return;
        seen.push(session.events().then((events) => events.length - 1 - notice.headSeq));
      });
      let before = -1;
      await session.transact(async (transaction) => {
        await transaction.append([title('a'), title('b')]);
        before = seen.length;
      });
      expect(before).toBe(0);
      expect(await Promise.all(seen)).toEqual([0]);
    });

    it('tells of the session and its new head, once for a transaction, to the session and to all', async () => {
      const [session, other] = [await fixture.session(), await fixture.session()];
      const [ofSession, ofAll]: [StoreNotice[], StoreNotice[]] = [[], []];
      fixture.store.watch(session.uid, (notice) => ofSession.push(notice));
      fixture.store.watch(null, (notice) => ofAll.push(notice));
      await session.append(title('a'), title('b'));
      await other.append(title('c'));
      const [first, second] = [
        { kind: 'events', uid: session.uid, afterSeq: 0, headSeq: 2 },
        { kind: 'events', uid: other.uid, afterSeq: 0, headSeq: 1 },
      ];
      expect(ofSession).toEqual([first]);
      expect(ofAll).toEqual([first, second]);
    });

    it('tells of a new session, of its frames and of its deletion', async () => {
      const ofAll: StoreNotice[] = [];
      fixture.store.watch(null, (notice) => ofAll.push(notice));
      const session = await fixture.session();
      const { uid } = session;
      expect(ofAll).toEqual([{ kind: 'events', uid, afterSeq: -1, headSeq: 0 }]);
      await session.prompt();
      await session.enter();
      const ref = await session.attempt();
      ofAll.length = 0;
      await session.frame(ref, 'a');
      await session.frame(ref, 'b', 1);
      await fixture.store.deleteSession(uid);
      expect(ofAll).toEqual([
        { kind: 'frames', uid, frame: 1 },
        { kind: 'frames', uid, frame: 2 },
        { kind: 'deleted', uid, id: uid, tenant: 'tenant' },
      ]);
    });

    it('does not come where nothing was appended', async () => {
      const session = await fixture.session();
      await session.append(title('a', 'k'));
      const notices: StoreNotice[] = [];
      fixture.store.watch(null, (notice) => notices.push(notice));
      await session.append(title('again', 'k'));
      await session.transact(() => Promise.resolve());
      await session.state();
      expect(notices).toEqual([]);
    });

    it('ends with the watch, which ends one watch only', async () => {
      const session = await fixture.session();
      const told: StoreNotice[] = [];
      const listener = (notice: StoreNotice) => told.push(notice);
      const first = fixture.store.watch(session.uid, listener);
      const second = fixture.store.watch(session.uid, listener);
      await session.append(title('a'));
      expect(told).toHaveLength(2);
      first();
      first();
      await session.append(title('b'));
      expect(told).toHaveLength(3);
      second();
      await session.append(title('c'));
      expect(told).toHaveLength(3);
    });

    it('reaches the others where one listener throws, and the commit stands', async () => {
      const session = await fixture.session();
      const told: string[] = [];
      fixture.store.watch(session.uid, () => {
        told.push('first');
        throw new Error('a broken listener');
      });
      fixture.store.watch(session.uid, () => told.push('second'));
      fixture.store.watch(null, () => told.push('third'));
      await session.append(title('a'));
      expect(told).toEqual(['first', 'second', 'third']);
      expect((await session.state()).title).toBe('a');
      await session.append(title('b'));
      expect((await session.state()).title).toBe('b');
    });

    it('may be answered by a listener that leaves, or that comes, while it is told', async () => {
      const session = await fixture.session();
      const told: string[] = [];
      const leave = fixture.store.watch(session.uid, () => {
        told.push('leaves');
        leave();
        fixture.store.watch(session.uid, () => told.push('came'));
      });
      fixture.store.watch(session.uid, () => told.push('stays'));
      await session.append(title('a'));
      expect(told).toEqual(['leaves', 'stays']);
      await session.append(title('b'));
      expect(told.slice(2)).toEqual(['stays', 'came']);
    });
  });
}
