/** Admission and the queue: a prompt is stored once, opens a turn where it may, and is never lost between two. */
import { describe, expect, it } from 'vitest';
import { eventKeys } from '../../../src/contract/event-keys.js';
import type { ItemId, RequestId } from '../../../src/contract/ids.js';
import type { InboxEntry } from '../../../src/core/inbox.js';
import { sessionScope } from '../../../src/store/admission.js';
import { checkLog } from '../../support/log-invariants.js';
import { newItemId, useStore, type OpenStore, type TestSession } from './store-fixture.js';

const requestId = (name: string) => name as RequestId;

async function inboxOf(session: TestSession) {
  const { inbox } = await session.state();
  const ids = (list: readonly InboxEntry[]) => list.map((entry) => entry.itemId);
  return { turn: ids(inbox.nextTurn), step: ids(inbox.nextStep) };
}

export function describeAdmission(open: OpenStore): void {
  describe('a prompt', () => {
    const fixture = useStore(open);

    it('opens the next turn of an idle session, by the event that stores it', async () => {
      const session = await fixture.session();
      const itemId = newItemId();
      expect(await session.admit('queue', { itemId })).toEqual({
        kind: 'accepted',
        itemId,
        turn: 1,
        position: null,
        cursorSeq: 0,
        interrupted: null,
        duplicate: false,
      });
      expect(await session.record()).toMatchObject({ openTurn: 1, status: 'running', headSeq: 1 });
      expect(await fixture.store.findTurn(session.uid, 1)).toMatchObject({ ended: false, requestIds: [] });
      await session.wholeTurn();
      expect(await session.record()).toMatchObject({ openTurn: null, status: 'idle' });
      expect(await session.prompt('steer')).toMatchObject({ turn: 2, position: null });
    });

    it('waits in a busy session, at its place in its own list', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const { headSeq } = await session.state();
      expect(await session.prompt('queue')).toMatchObject({ turn: null, position: 0, cursorSeq: headSeq });
      expect(await session.prompt('queue')).toMatchObject({
        turn: null,
        position: 1,
        cursorSeq: headSeq + 1,
      });
      expect(await session.prompt('steer')).toMatchObject({ turn: null, position: 0 });
      expect(await session.prompt('inject')).toMatchObject({ turn: null, position: 1 });
    });

    it('that is injected wakes nobody: it waits in an idle session for what comes next', async () => {
      const session = await fixture.session();
      expect(await session.prompt('inject')).toMatchObject({ turn: null, position: 0 });
      expect(await session.record()).toMatchObject({ openTurn: null, status: 'idle' });
      expect(await fixture.store.openTurns('9999')).toEqual([]);
      const { itemId } = await session.prompt('queue');
      await session.enter();
      const shown = (await session.events()).filter(
        (event) => event.type === 'user/message' && event.data.source.kind === 'user',
      );
      expect(shown).toHaveLength(2);
      expect((await session.events()).some(({ data }) => JSON.stringify(data).includes(itemId))).toBe(true);
    });

    it('enters the next step of the running turn where it steers', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      await session.message(0);
      const steer = requestId('steer');
      await session.prompt('steer', { requestId: steer });
      await session.nextStep();
      expect(await inboxOf(session)).toEqual({ turn: [], step: [] });
      const shown = (await session.events()).filter(
        ({ type, step, data }) =>
          type === 'user/message' && step === 2 && JSON.stringify(data).includes(steer),
      );
      expect(shown).toHaveLength(1);
    });

    it('keeps what it was told: content, zone, author and choice of model', async () => {
      const session = await fixture.session();
      const content = [{ type: 'text', text: 'Hello.' }] as const;
      const id = requestId('r');
      const choice = { timeZone: 'Europe/Zurich', by: 'ann', provider: 'p', model: 'm' };
      await session.prompt('queue', { requestId: id, content, ...choice });
      await fixture.reopen();
      expect((await session.state()).inbox.nextTurn[0]).toMatchObject({
        content,
        source: { kind: 'user', requestId: id, timeZone: 'Europe/Zurich', by: 'ann' },
        provider: 'p',
        model: 'm',
      });
    });
  });

  describe('a request id that is known', () => {
    const fixture = useStore(open);
    const r = requestId('r');

    it('with the same body is answered again with the item and the cursor of the first, and appends nothing', async () => {
      const session = await fixture.session();
      const first = await session.prompt('queue', { requestId: r });
      await session.prompt('queue');
      const again = await session.prompt('queue', { requestId: r, itemId: newItemId() });
      expect(again).toEqual({ ...first, duplicate: true });
      expect(await session.events()).toHaveLength(3);
      await fixture.reopen();
      expect(await session.prompt('queue', { requestId: r })).toEqual(again);
    });

    it('with another body is refused', async () => {
      const session = await fixture.session();
      await session.prompt('queue', { requestId: r });
      const other = await session.admit('queue', { requestId: r, bodySha256: 'another' });
      expect(other).toEqual({ kind: 'request-id-reused' });
      expect(await session.events()).toHaveLength(2);
    });

    it('is known in its own session only', async () => {
      const [one, two] = [await fixture.session(), await fixture.session()];
      await one.prompt('queue', { requestId: r });
      expect(await two.prompt('queue', { requestId: r, bodySha256: 'b' })).toMatchObject({
        duplicate: false,
      });
    });

    it('is answered with the turn and the place that its prompt has now', async () => {
      const session = await fixture.session();
      await session.prompt('queue', { requestId: requestId('0') });
      await session.enter();
      await session.message();
      const [first, second] = [requestId('1'), requestId('2')];
      await session.prompt('queue', { requestId: first });
      await session.prompt('queue', { requestId: second });
      const now = async (id: RequestId) => {
        const { turn, position } = await session.prompt('queue', { requestId: id });
        return [turn, position];
      };
      expect(await now(requestId('0'))).toEqual([1, null]);
      expect(await now(second)).toEqual([null, 1]);
      await session.end();
      expect(await now(first)).toEqual([2, null]);
      expect(await now(second)).toEqual([null, 1]);
      await session.enter();
      expect(await now(second)).toEqual([null, 0]);
      await session.message();
      await session.end();
      await session.wholeTurn();
      expect([await now(first), await now(second)]).toEqual([
        [2, null],
        [3, null],
      ]);
    });

    it('of a steer is answered with the turn that it opened, before and after that is entered', async () => {
      const session = await fixture.session();
      const first = await session.prompt('steer', { requestId: r });
      expect(first.turn).toBe(1);
      expect(await session.prompt('steer', { requestId: r })).toMatchObject({ turn: 1, position: null });
      await session.enter();
      expect(await session.prompt('steer', { requestId: r })).toMatchObject({ turn: 1, position: null });
    });

    it('of a steer is answered with the turn that took it at a later step', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      await session.message();
      await session.prompt('steer', { requestId: r });
      expect(await session.prompt('steer', { requestId: r })).toMatchObject({ turn: null, position: 0 });
      await session.nextStep();
      expect(await session.prompt('steer', { requestId: r })).toMatchObject({ turn: 1, position: null });
      const record = await fixture.store.findRequest(sessionScope(session.uid), r);
      expect(record).toMatchObject({ uid: session.uid, turn: 1 });
    });
  });

  describe('prompts at the same time', () => {
    const fixture = useStore(open);

    it('with one request id are one prompt', async () => {
      const session = await fixture.session();
      const admitted = await Promise.all(
        Array.from({ length: 50 }, () => session.prompt('queue', { requestId: requestId('r') })),
      );
      expect(admitted.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
      expect(new Set(admitted.map(({ itemId }) => itemId)).size).toBe(1);
      expect(new Set(admitted.map(({ cursorSeq }) => cursorSeq))).toEqual(new Set([0]));
      expect(await session.events()).toHaveLength(2);
    });

    it('with ids of their own all stand, in one order, and open one turn', async () => {
      const session = await fixture.session();
      const admitted = await Promise.all(Array.from({ length: 50 }, () => session.prompt('queue')));
      expect(admitted.filter(({ turn }) => turn === 1)).toHaveLength(1);
      const waiting = admitted.filter(({ turn }) => turn === null);
      const positions = waiting.map(({ position }) => position ?? -1).sort((a, b) => a - b);
      expect(positions).toEqual(Array.from({ length: 49 }, (_, n) => n + 1));
      const { turn: order } = await inboxOf(session);
      for (const { itemId, position } of waiting) expect(order[position ?? -1]).toBe(itemId);
      expect(new Set(order).size).toBe(50);
      expect(await session.record()).toMatchObject({ openTurn: 1 });
      expect(checkLog(await session.events())).toEqual([]);
    });

    it('with the end of a turn fall to one side of it, never between', async () => {
      const session = await fixture.session();
      for (let round = 1; round <= 10; round++) {
        if (round === 1) await session.prompt();
        await session.enter();
        await session.message();
        const [, prompt] = await Promise.all([session.end(), session.prompt('queue')]);
        const state = await session.state();
        // It opened the next turn, or waited and was taken over by the end.
        expect([state.openTurn?.number, null]).toContain(prompt.turn);
        expect(state.openTurn).toMatchObject({ number: round + 1, started: false });
      }
    });
  });

  describe('the queue', () => {
    const fixture = useStore(open);
    const ends = [
      { kind: 'completed' },
      { kind: 'aborted', cause: 'user', by: 'ann' },
      { kind: 'blocked', hook: 'h', note: 'n' },
      { kind: 'error', code: 'SERVER', message: 'm' },
      { kind: 'max-tokens' },
      { kind: 'limit', which: 'steps', value: 1 },
      { kind: 'interrupted', note: 'n' },
    ] as const;

    it.each(ends)('goes on after a turn that ended $kind', async (reason) => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      await session.message();
      await session.prompt('queue', { requestId: requestId('next') });
      await session.end(reason);
      expect(await session.record()).toMatchObject({ openTurn: 2, status: 'running' });
      expect(await fixture.store.findTurn(session.uid, 1)).toMatchObject({ ended: true, reason });
      expect(await fixture.store.findTurn(session.uid, 2)).toMatchObject({ ended: false });
      await session.enter();
      expect(await fixture.store.findTurn(session.uid, 2)).toMatchObject({ requestIds: ['next'] });
      expect(checkLog(await session.events(), { mayRun: true })).toEqual([]);
    });

    it('keeps for the next turn a steer that no step took, and wakes for it', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      await session.message();
      const { itemId } = await session.prompt('steer');
      await session.end();
      expect(await session.record()).toMatchObject({ openTurn: 2 });
      expect(await inboxOf(session)).toEqual({ turn: [], step: [itemId] });
    });

    it('keeps an injected prompt and does not wake for it', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      await session.message();
      await session.prompt('inject');
      await session.end();
      expect(await session.record()).toMatchObject({ openTurn: null, status: 'idle' });
      expect((await inboxOf(session)).step).toHaveLength(1);
    });
  });

  describe('an item of the queue', () => {
    const fixture = useStore(open);

    async function waiting() {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const ids: ItemId[] = [];
      for (const name of ['a', 'b', 'c']) {
        ids.push((await session.prompt('queue', { requestId: requestId(name) })).itemId);
      }
      return { session, ids };
    }
    const plain = ({ itemId, requestId: id, content, source, wakes }: InboxEntry) => ({
      itemId,
      requestId: id,
      content: [...content],
      source,
      wakes,
    });

    it('keeps its id and its request through an edit and a move', async () => {
      const { session, ids } = await waiting();
      const [, b] = ids;
      const content = [{ type: 'text', text: 'Edited.' } as const];
      await session.transact(async (transaction) => {
        const entry = transaction.state.inbox.nextTurn[1]!;
        await transaction.append([
          {
            type: 'agent/inbox/spliced',
            key: eventKeys.item(entry.itemId, 1),
            data: {
              target: 'next-turn',
              start: 1,
              removed: [entry.itemId],
              inserted: [{ ...plain(entry), content }],
              outcome: 'edited',
            },
          },
        ]);
      });
      expect(await inboxOf(session)).toEqual({ turn: ids, step: [] });
      await session.transact(async (transaction) => {
        const entry = transaction.state.inbox.nextTurn[1]!;
        await transaction.append([
          {
            type: 'agent/inbox/spliced',
            key: eventKeys.item(entry.itemId, 2),
            data: { target: 'next-step', start: 0, inserted: [plain(entry)], outcome: 'moved' },
          },
        ]);
      });
      await fixture.reopen();
      expect(await inboxOf(session)).toEqual({ turn: [ids[0], ids[2]], step: [b] });
      const again = await session.prompt('queue', { requestId: requestId('b') });
      expect(again).toMatchObject({ itemId: b, duplicate: true, turn: null, position: 0 });
      await session.message();
      await session.nextStep();
      const shown = (await session.events()).find(
        ({ type, step, data }) =>
          type === 'user/message' && step === 2 && JSON.stringify(data).includes('Edited.'),
      );
      expect(shown?.data).toMatchObject({ content, source: { requestId: 'b' } });
    });

    it('is gone once it is removed, and its request stays known', async () => {
      const { session, ids } = await waiting();
      await session.append({
        type: 'agent/inbox/spliced',
        key: eventKeys.item(ids[1]!, 1),
        data: { target: 'next-turn', start: 0, removed: [ids[1]!], outcome: 'canceled' },
      });
      expect((await inboxOf(session)).turn).toEqual([ids[0], ids[2]]);
      const again = await session.prompt('queue', { requestId: requestId('b') });
      expect(again).toMatchObject({ itemId: ids[1], duplicate: true, turn: null, position: null });
      expect((await inboxOf(session)).turn).toHaveLength(2);
    });
  });
}
