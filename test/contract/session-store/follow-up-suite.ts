/** What follows a turn: kept from its cause on, due with the turn's end, and settled once. */
import { describe, expect, it } from 'vitest';
import type { FollowUpRef } from '../../../src/contract/follow-up.js';
import type { NewFollowUp } from '../../../src/store/follow-up-store.js';
import { useStore, type OpenStore, type TestSession } from './store-fixture.js';

const TARGET = { url: 'https://example.com/hook', secret: 'sesame', deliveryId: 'd-1' };
const WEBHOOK: NewFollowUp = { turn: 1, kind: 'webhook', target: TARGET };
const LATER = { before: '9999', limit: 100 };

export function describeFollowUps(open: OpenStore): void {
  describe('a follow-up of a turn', () => {
    const fixture = useStore(open);
    const refOf = ({ uid }: TestSession): FollowUpRef => ({ uid, turn: 1, kind: 'webhook' });
    const add = (session: TestSession, followUp: NewFollowUp) =>
      session.transact((transaction) => transaction.addFollowUp(followUp));
    const due = async () => {
      const session = await fixture.session();
      await session.prompt();
      await add(session, WEBHOOK);
      await session.wholeTurn();
      return session;
    };

    it('is due from the end of its turn on, and not before', async () => {
      const { store } = fixture;
      const session = await fixture.session();
      await session.prompt();
      await add(session, WEBHOOK);
      await add(session, { turn: 2, kind: 'webhook', target: TARGET });
      expect(await store.followUps.due(LATER)).toEqual([]);
      expect(await store.followUps.begin(refOf(session))).toBeUndefined();
      await session.wholeTurn();
      expect(await store.followUps.due(LATER)).toEqual([refOf(session)]);
      expect(await store.followUps.due({ uid: session.uid, turn: 1 })).toEqual([refOf(session)]);
      expect(await store.followUps.due({ uid: session.uid, turn: 2 })).toEqual([]);
      expect(await store.followUps.due({ ...LATER, before: '2000' })).toEqual([]);
    });

    it('is added with its transaction or not at all, and once', async () => {
      const session = await fixture.session();
      await session.prompt();
      const failing = session.transact(async (transaction) => {
        await transaction.addFollowUp(WEBHOOK);
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      await add(session, { turn: 1, kind: 'title' });
      await add(session, { turn: 1, kind: 'title' });
      await session.wholeTurn();
      expect(await fixture.store.followUps.due(LATER)).toEqual([{ ...refOf(session), kind: 'title' }]);
    });

    it('counts its tries over a new start, each with what it needs', async () => {
      const session = await due();
      const { updatedAt } = await session.record();
      const first = await fixture.store.followUps.begin(refOf(session));
      expect(first).toEqual({ attempts: 1, dueAt: updatedAt, target: TARGET });
      const store = await fixture.reopen();
      expect(await store.followUps.begin(refOf(session))).toMatchObject({ attempts: 2, target: TARGET });
    });

    it('is settled once, and then neither due nor tried', async () => {
      const { store } = fixture;
      const session = await due();
      await store.followUps.settle(refOf(session), 'done');
      await session.transact((transaction) =>
        transaction.settleFollowUp({ turn: 1, kind: 'webhook' }, 'failed'),
      );
      expect(await store.followUps.due(LATER)).toEqual([]);
      expect(await store.followUps.begin(refOf(session))).toBeUndefined();
    });

    it('goes with its session', async () => {
      const { store } = fixture;
      const [gone, kept] = [await due(), await due()];
      await store.deleteSession(gone.uid);
      expect(await store.followUps.begin(refOf(gone))).toBeUndefined();
      expect(await store.followUps.due(LATER)).toEqual([refOf(kept)]);
    });
  });
}
