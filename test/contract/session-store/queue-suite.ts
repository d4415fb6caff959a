/** Prompts that do not wait their turn, and changes of those that wait: who comes first, and that nothing is lost. */
import { describe, expect, it } from 'vitest';
import type { ItemId } from '../../../src/contract/ids.js';
import { abortReason, cancelTurn, turnEnd } from '../../../src/core/turn-progress.js';
import {
  changeQueued,
  findQueued,
  removeQueued,
  type ItemChange,
  type QueuedItem,
} from '../../../src/store/queue.js';
import { checkLog } from '../../support/log-invariants.js';
import { newItemId, useStore, type OpenStore, type TestSession } from './store-fixture.js';

const find = (session: TestSession, itemId: ItemId): Promise<QueuedItem> =>
  session.transact((transaction) => findQueued(transaction, itemId));

const change = (session: TestSession, itemId: ItemId, wanted: ItemChange | 'remove') =>
  session.transact(async (transaction) => {
    const found = await findQueued(transaction, itemId);
    if (found.kind !== 'waiting') return found;
    if (wanted !== 'remove') return changeQueued(transaction, found.item, wanted);
    await removeQueued(transaction, found.item);
    return 'removed';
  });

const cancel = (session: TestSession) =>
  session.transact(async (transaction) => {
    const { openTurn, inbox } = transaction.state;
    if (openTurn === null) throw new Error('No turn is open.');
    await transaction.append(cancelTurn(openTurn, inbox, { by: 'ann' }));
  });

/** Ends the open turn, which was cancelled before its first step. */
const endUnentered = (session: TestSession) =>
  session.transact(async (transaction) => {
    const { openTurn } = transaction.state;
    if (openTurn?.step !== null) throw new Error('The turn has a step.');
    await transaction.append([turnEnd(openTurn, abortReason(openTurn.cancel), null)]);
  });

async function waiting(session: TestSession) {
  const { nextTurn, nextStep } = (await session.state()).inbox;
  return { turn: nextTurn.map(({ itemId }) => itemId), step: nextStep.map(({ itemId }) => itemId) };
}

export function describeQueue(open: OpenStore): void {
  describe('a prompt that is not to wait', () => {
    const fixture = useStore(open);

    it.each(['reject', 'interrupt'] as const)(
      'is an ordinary one in an idle session: %s',
      async (whenRunning) => {
        const session = await fixture.session();
        expect(await session.prompt('queue', { whenRunning })).toMatchObject({ turn: 1, interrupted: null });
        await session.wholeTurn();
        expect(checkLog(await session.events())).toEqual([]);
      },
    );

    it('is refused where a turn is open, and stores nothing', async () => {
      const session = await fixture.session();
      await session.prompt();
      const { headSeq } = await session.state();
      expect(await session.admit('queue', { whenRunning: 'reject' })).toEqual({ kind: 'turn-running' });
      await session.enter();
      expect(await session.admit('steer', { whenRunning: 'reject' })).toEqual({ kind: 'turn-running' });
      expect((await session.events()).slice(headSeq + 1).map(({ type }) => type)).not.toContain(
        'turn/cancel-requested',
      );
      expect(await waiting(session)).toEqual({ turn: [], step: [] });
    });

    it('goes first and cancels the turn, in one cut of the log', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const behind = await session.prompt();
      const { headSeq } = await session.state();
      const first = await session.prompt('queue', { whenRunning: 'interrupt', by: 'ann' });
      expect(first).toMatchObject({ turn: null, position: 0, interrupted: 1, cursorSeq: headSeq });
      expect(await waiting(session)).toEqual({ turn: [first.itemId, behind.itemId], step: [] });
      expect((await session.state()).openTurn?.cancel).toEqual({ by: 'ann', cause: 'interrupt' });
      await session.message(0, { finish: 'aborted', interrupted: true });
      await session.end({ kind: 'aborted', cause: 'user', by: 'ann' });
      await session.wholeTurn();
      expect(await find(session, first.itemId)).toEqual({ kind: 'claimed', turn: 2 });
      await session.wholeTurn();
      expect(checkLog(await session.events())).toEqual([]);
    });

    it.each(['queue', 'steer'] as const)(
      'is never taken by the turn that it cancels, though that is not entered yet: %s',
      async (mode) => {
        const session = await fixture.session();
        const opener = await session.prompt(mode);
        const first = await session.prompt('queue', { whenRunning: 'interrupt' });
        expect(first).toMatchObject({ position: 0, interrupted: 1 });
        expect(await find(session, opener.itemId)).toEqual({ kind: 'claimed', turn: 1 });
        await endUnentered(session);
        await session.enter();
        expect(await find(session, first.itemId)).toEqual({ kind: 'claimed', turn: 2 });
        expect(checkLog(await session.events(), { mayRun: true })).toEqual([]);
      },
    );

    it('that comes again cancels nothing more', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const asked = { whenRunning: 'interrupt', requestId: 'r' as never } as const;
      const first = await session.prompt('queue', asked);
      await session.message(0);
      await session.end({ kind: 'aborted', cause: 'user', by: 'ann' });
      await session.enter();
      const again = await session.prompt('queue', { ...asked, itemId: newItemId() });
      expect(again).toMatchObject({ itemId: first.itemId, turn: 2, interrupted: null, duplicate: true });
      expect((await session.state()).openTurn?.cancel).toBeNull();
    });
  });

  describe('a cancel', () => {
    const fixture = useStore(open);

    it('of a turn that is not entered yet takes what was meant for it, and nothing that comes later', async () => {
      const session = await fixture.session();
      const steer = await session.prompt('steer');
      await cancel(session);
      const later = [await session.prompt('steer'), await session.prompt('queue')];
      expect(await find(session, steer.itemId)).toEqual({ kind: 'claimed', turn: 1 });
      await endUnentered(session);
      await session.wholeTurn();
      for (const { itemId } of later) {
        expect(await find(session, itemId)).toEqual({ kind: 'claimed', turn: 2 });
      }
      const shown = (await session.events()).filter(
        ({ type, turn }) => type === 'user/message' && turn === 2,
      );
      expect(shown.length).toBeGreaterThanOrEqual(2);
      expect(checkLog(await session.events())).toEqual([]);
    });
  });

  describe('an item that waits', () => {
    const fixture = useStore(open);
    const text = (words: string) => [{ type: 'text', text: words }] as const;

    /** A session with a running turn and these prompts behind it. */
    async function busy(...modes: readonly ('queue' | 'steer' | 'inject')[]) {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const items: ItemId[] = [];
      for (const mode of modes) items.push((await session.prompt(mode)).itemId);
      return { session, items };
    }

    it('is edited, and the turn that takes it is told the new content', async () => {
      const { session, items } = await busy('queue');
      await change(session, items[0]!, { content: text('first edit') });
      await change(session, items[0]!, { content: text('last edit') });
      await fixture.reopen();
      expect((await session.state()).inbox.nextTurn[0]).toMatchObject({
        content: text('last edit'),
        changes: 2,
      });
      await session.message();
      await session.end();
      await session.wholeTurn();
      const told = JSON.stringify((await session.events()).filter(({ type }) => type === 'user/message'));
      expect(told).toContain('last edit');
      expect(told).not.toContain('first edit');
      expect(checkLog(await session.events())).toEqual([]);
    });

    it('that is large after its edit is moved to the blobs', async () => {
      const { session, items } = await busy('queue');
      await change(session, items[0]!, { content: text('long '.repeat(20_000)) });
      expect((await session.state()).inbox.nextTurn[0]?.content[0]?.type).toBe('blob');
    });

    it('is moved to the running turn, which takes it at its next step, and back', async () => {
      const { session, items } = await busy('queue', 'steer');
      const [queued, steering] = items as [ItemId, ItemId];
      await change(session, steering, { mode: 'queue' });
      await change(session, queued, { mode: 'steer' });
      expect(await waiting(session)).toEqual({ turn: [steering], step: [queued] });
      await session.message();
      await session.nextStep();
      expect(await find(session, queued)).toEqual({ kind: 'claimed', turn: 1 });
      await session.message();
      await session.end();
      await session.wholeTurn();
      expect(await find(session, steering)).toEqual({ kind: 'claimed', turn: 2 });
      expect(checkLog(await session.events())).toEqual([]);
    });

    it('is edited and moved at once', async () => {
      const { session, items } = await busy('queue');
      const changed = await change(session, items[0]!, { content: text('now'), mode: 'steer' });
      expect(changed).toMatchObject({
        item: { target: 'next-step', position: 0, entry: { content: text('now'), changes: 2 } },
        opened: null,
      });
    });

    it('is removed, and no turn takes it', async () => {
      const { session, items } = await busy('queue', 'queue');
      expect(await change(session, items[0]!, 'remove')).toBe('removed');
      expect(await find(session, items[0]!)).toEqual({ kind: 'gone' });
      await session.message();
      await session.end();
      await session.wholeTurn();
      expect(await find(session, items[1]!)).toEqual({ kind: 'claimed', turn: 2 });
      expect(checkLog(await session.events())).toEqual([]);
    });

    it('is no more than claimed once a turn has taken it, and then not changed', async () => {
      const { session, items } = await busy('steer');
      await session.message();
      await session.nextStep();
      const { headSeq } = await session.state();
      for (const wanted of ['remove', { mode: 'queue' }, { content: text('late') }] as const) {
        expect(await change(session, items[0]!, wanted)).toEqual({ kind: 'claimed', turn: 1 });
      }
      expect((await session.state()).headSeq).toBe(headSeq);
    });

    it('of another session is not there', async () => {
      const { items } = await busy('queue');
      expect(await find(await fixture.session(), items[0]!)).toEqual({ kind: 'gone' });
    });

    it.each(['steer', 'queue'] as const)(
      'that was injected into an idle session wakes it as a %s, and does not by an edit',
      async (mode) => {
        const session = await fixture.session();
        const { itemId } = await session.prompt('inject');
        expect(await change(session, itemId, { content: text('edited') })).toMatchObject({ opened: null });
        expect(await session.record()).toMatchObject({ openTurn: null });
        expect(await change(session, itemId, { mode })).toMatchObject({ opened: 1 });
        expect(await session.record()).toMatchObject({ openTurn: 1, status: 'running' });
        await session.wholeTurn();
        expect(await find(session, itemId)).toEqual({ kind: 'claimed', turn: 1 });
        expect(checkLog(await session.events())).toEqual([]);
      },
    );

    it('keeps its request id: sent again, it is the same item, also once it was edited or removed', async () => {
      const { session, items } = await busy();
      const requestId = 'r' as never;
      items.push((await session.prompt('queue', { requestId })).itemId);
      await change(session, items[0]!, { content: text('edited') });
      expect(await session.prompt('queue', { requestId })).toMatchObject({ itemId: items[0], position: 0 });
      await change(session, items[0]!, 'remove');
      expect(await session.prompt('queue', { requestId })).toMatchObject({
        itemId: items[0],
        turn: null,
        position: null,
        duplicate: true,
      });
      expect(await waiting(session)).toEqual({ turn: [], step: [] });
    });
  });

  describe('a blob', () => {
    const fixture = useStore(open);

    it('has a type that can be asked for alone, and said anew', async () => {
      const session = await fixture.session();
      const bytes = new TextEncoder().encode('# Title');
      const types = await session.transact(async (transaction) => {
        const sha256 = await transaction.saveBlob(bytes, 'application/octet-stream');
        await transaction.saveBlob(bytes, 'text/html');
        const first = await transaction.blobType(sha256);
        await transaction.retypeBlob(sha256, 'text/markdown');
        return [
          first,
          await transaction.blobType(sha256),
          await transaction.blobType('0'.repeat(64) as never),
        ];
      });
      expect(types).toEqual(['application/octet-stream', 'text/markdown', undefined]);
    });
  });
}
