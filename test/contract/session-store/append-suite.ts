/** Appends and transactions: order, idempotence, all or nothing. */
import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../../src/contract/events.js';
import type { SessionUid } from '../../../src/contract/ids.js';
import { foldState } from '../../../src/core/session-state.js';
import type { StoreNotice } from '../../../src/store/session-store.js';
import { randomLog } from '../../support/random-log.js';
import { checkLog } from '../../support/log-invariants.js';
import { seededRandom } from '../../unit/model/seeded-random.js';
import { expectCode, factOf, owner, run, title, useStore, type OpenStore } from './store-fixture.js';

export function describeAppends(open: OpenStore): void {
  describe('an append', () => {
    const fixture = useStore(open);

    it('gives seqs that are contiguous from 0, over appends and transactions', async () => {
      const session = await fixture.session();
      await session.append(title('a'), title('b'));
      await session.transact(async (transaction) => {
        await transaction.append([title('c')]);
        await transaction.append([]);
        await transaction.append([title('d'), title('e')]);
      });
      const events = await session.events();
      expect(events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5]);
      expect(events.map(({ type }) => type)[0]).toBe('session/created');
      expect(await session.record()).toMatchObject({ headSeq: 5 });
    });

    it('returns the events as they stand, with the time of the transaction', async () => {
      const session = await fixture.session();
      const { returned, at } = await session.transact(async (transaction) => ({
        returned: await transaction.append([title('a', 'k'), title('b')]),
        at: transaction.at,
      }));
      expect(returned.map(({ seq, at: time }) => [seq, time])).toEqual([
        [1, at],
        [2, at],
      ]);
      expect(new Date(at).toISOString()).toBe(at);
      expect((await session.events()).slice(1)).toEqual(returned);
    });

    it('keeps the whole envelope', async () => {
      const session = await fixture.session();
      const event: NewEvent = {
        type: 'user/message',
        turn: 3,
        step: 4,
        surface: { replace: [1, 2] },
        sources: [7, 5],
        data: { messageId: 'm' as never, content: [], source: { kind: 'compaction' } },
      };
      await session.append(event);
      expect(factOf((await session.events())[1]!)).toEqual(event);
    });

    it('with a known key appends nothing and returns what stands there', async () => {
      const session = await fixture.session();
      const [first] = await session.append(title('first', 'k'));
      const [again, other] = await session.append(title('second', 'k'), title('other', 'k2'));
      expect(again).toEqual(first);
      expect(other?.seq).toBe(2);
      expect((await session.state()).title).toBe('other');
      await fixture.reopen();
      expect(await session.append(title('third', 'k'))).toEqual([first]);
      expect(await session.events()).toHaveLength(3);
    });

    it('takes the first of two facts with the same key', async () => {
      const session = await fixture.session();
      const [first, second] = await session.append(title('first', 'k'), title('second', 'k'));
      expect(second).toEqual(first);
      expect(await session.events()).toHaveLength(2);
      expect((await session.state()).title).toBe('first');
    });

    it('knows a key in its own session only', async () => {
      const [one, two] = [await fixture.session(), await fixture.session()];
      await one.append(title('one', 'k'));
      await two.append(title('two', 'k'));
      expect((await two.state()).title).toBe('two');
    });

    it('of one key by many at once stands once', async () => {
      const session = await fixture.session();
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, n) => session.append(title(`by ${n.toString()}`, 'k'))),
      );
      expect(new Set(results.map(([event]) => JSON.stringify([event?.seq, event?.data]))).size).toBe(1);
      expect(await session.events()).toHaveLength(2);
    });

    it('takes thousands of facts at once', async () => {
      const session = await fixture.session();
      const facts = Array.from({ length: 5000 }, (_, n) => title(n.toString(), `k${n.toString()}`));
      await session.append(...facts);
      const again = await session.append(...facts);
      expect(again).toEqual((await session.events()).slice(1));
      expect(again).toHaveLength(5000);
    });

    it('changes the state inside of the transaction at once', async () => {
      const session = await fixture.session();
      await session.transact(async (transaction) => {
        await transaction.append([title('a')]);
        expect(transaction.state).toMatchObject({ title: 'a', headSeq: 1 });
        await transaction.append([title('b')]);
        expect(transaction.state).toMatchObject({ title: 'b', headSeq: 2 });
      });
    });
  });

  describe('an append is refused with INVALID_EVENT', () => {
    const fixture = useStore(open);
    const wrong: [string, unknown][] = [
      ['of an unknown type', { type: 'session/unheard-of', data: {} }],
      ['of a type that every object has', { type: 'constructor', data: {} }],
      ['that lacks a field', { type: 'session/title', data: { title: 'x' } }],
      ['that has a field too many', { type: 'step/start', data: { more: 1 } }],
      ['of another shape', { type: 'session/title', data: 'x' }],
      ['of a word that is not in its list', { type: 'step/end', data: { next: 'later' } }],
    ];
    it.each(wrong)('where an event is %s', async (_what, event) => {
      const session = await fixture.session();
      await expectCode(session.append(title('before'), event as NewEvent), 'INVALID_EVENT');
      expect(await session.events()).toHaveLength(1);
      expect(await session.state()).toMatchObject({ headSeq: 0, title: '' });
    });

    it('and leaves no trace in a transaction that goes on', async () => {
      const session = await fixture.session();
      await session.transact(async (transaction) => {
        const broken = { type: 'session/title', data: {} } as unknown as NewEvent;
        await expectCode(transaction.append([title('lost'), broken]), 'INVALID_EVENT');
        expect(transaction.state).toMatchObject({ headSeq: 0, title: '' });
        await transaction.append([title('kept')]);
      });
      expect((await session.events()).map(({ seq }) => seq)).toEqual([0, 1]);
      expect((await session.state()).title).toBe('kept');
    });
  });

  describe('a transaction that fails', () => {
    const fixture = useStore(open);

    it('leaves nothing behind: no event, no projection, no state, no attempt, no request, no blob', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      await session.message(1);
      const before = {
        state: await session.state(),
        record: await session.record(),
        turn: await fixture.store.findTurn(session.uid, 1),
        events: await session.events(),
      };
      const notices: StoreNotice[] = [];
      fixture.store.watch(null, (notice) => notices.push(notice));
      const failure = new Error('changed its mind');
      let blob: Parameters<typeof fixture.store.readBlob>[1] | undefined;
      const failing = session.transact(async (transaction) => {
        await transaction.append([
          { type: 'turn/cancel-requested', key: 'turn/1/cancel', turn: 1, data: { by: 'ann' } },
          { type: 'step/end', key: 'step/1.1/end', turn: 1, step: 1, data: { next: 'end' } },
        ]);
        expect(await transaction.claimTurn(1, run(9))).toEqual({ kind: 'held' });
        await transaction.stage(1, 1, { index: 0, content: [], isError: false, contexts: [], durationMs: 0 });
        await transaction.claimRequest('scope', 'r' as never, {
          bodySha256: 'b',
          itemId: 'i' as never,
          cursorSeq: 0,
        });
        blob = await transaction.saveBlob(new Uint8Array([1, 2, 3]), 'image/png');
        throw failure;
      });
      await expect(failing).rejects.toBe(failure);

      for (const restarted of [false, true]) {
        const store = restarted ? await fixture.reopen() : fixture.store;
        expect(await store.readState(session.uid)).toEqual(before.state);
        expect(await session.record()).toEqual(before.record);
        expect(await store.findTurn(session.uid, 1)).toEqual(before.turn);
        expect(await session.events()).toEqual(before.events);
        expect(await store.findRequest('scope', 'r' as never)).toBeUndefined();
        expect(await store.readBlob(session.uid, blob!)).toBeUndefined();
        expect(await session.transact((transaction) => transaction.staged(1, 1))).toEqual([]);
      }
      expect(notices).toEqual([]);
      // The run that claimed the turn in vain does not own it.
      expect(await session.openAttempt({ turn: 1, step: 1, call: 0 }, owner({ run: run(5) }))).toMatchObject({
        kind: 'granted',
      });
    });

    it('does not disturb the next one', async () => {
      const session = await fixture.session();
      const results = await Promise.allSettled([
        session.append(title('a')),
        session.transact(async (transaction) => {
          await transaction.append([title('lost')]);
          throw new Error('no');
        }),
        session.append(title('b')),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      const titles = (await session.events()).map(({ data }) => ('title' in data ? data.title : ''));
      expect(titles).toEqual(['', 'a', 'b']);
    });

    it('is refused where there is no such session', async () => {
      const uid = '01900000-0000-7000-8000-000000000000' as SessionUid;
      await expectCode(
        fixture.store.transact(uid, () => Promise.resolve()),
        'SESSION_NOT_FOUND',
      );
      await expectCode(fixture.store.readState(uid), 'SESSION_NOT_FOUND');
      await expectCode(fixture.store.readEvents(uid, { limit: 1 }), 'SESSION_NOT_FOUND');
      await expectCode(fixture.store.readTail(uid, { seq: -1, frame: 0, limit: 1 }), 'SESSION_NOT_FOUND');
      await expectCode(fixture.store.saveBlob(uid, new Uint8Array([1]), 'image/png'), 'SESSION_NOT_FOUND');
    });
  });

  describe('what is read', () => {
    const fixture = useStore(open);

    it('is the fold of the log, in the transaction, from the cache and after a new start', async () => {
      for (let seed = 1; seed <= 5; seed++) {
        const session = await fixture.session();
        const facts = randomLog(seededRandom(seed)).events.slice(1).map(factOf) as NewEvent[];
        for (let from = 0; from < facts.length; from += 7)
          await session.append(...facts.slice(from, from + 7));
        const events = await session.events();
        expect(events.slice(1).map(factOf)).toEqual(facts);
        expect(checkLog(events)).toEqual([]);
        const folded = foldState(events);
        expect(await session.state()).toEqual(folded);
        await fixture.reopen();
        expect(await session.state()).toEqual(folded);
        expect(await session.transact(({ state }) => Promise.resolve(state))).toEqual(folded);
      }
    });

    it('has the projections that the log amounts to, however the facts are spread over appends', async () => {
      for (const size of [1, 5, 1000]) {
        const session = await fixture.session();
        const log = randomLog(seededRandom(11));
        const facts = log.events.slice(1).map(factOf) as NewEvent[];
        for (let from = 0; from < facts.length; from += size) {
          await session.append(...facts.slice(from, from + size));
        }
        expect(await session.record()).toMatchObject({ openTurn: null, status: 'idle' });
        const turns = await fixture.store.listTurns(session.uid, { limit: 100 });
        const ends = log.events.filter((event) => event.type === 'turn/end').reverse();
        expect(turns.map(({ turn }) => turn)).toEqual(ends.map(({ turn }) => turn));
        expect(turns.map(({ reason }) => reason)).toEqual(ends.map(({ data }) => data.reason));
        expect(turns.map(({ usage, steps }) => ({ usage, steps }))).toEqual(
          ends.map(({ data: { usage, steps } }) => ({ usage, steps })),
        );
        const starts = log.events.filter((event) => event.type === 'turn/start').reverse();
        expect(turns.map(({ requestIds }) => requestIds)).toEqual(starts.map(({ data }) => data.requestIds));
      }
    });

    it('is a page after or before a seq, of some types, of a turn', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.wholeTurn();
      const events = await session.events();
      const read = async (query: Partial<Parameters<typeof fixture.store.readEvents>[1]>) =>
        (await fixture.store.readEvents(session.uid, { limit: 100, ...query })).map(({ seq }) => seq);
      const last = events.length - 1;
      expect(await read({ after: -1, limit: 2 })).toEqual([0, 1]);
      expect(await read({ after: 1, limit: 2 })).toEqual([2, 3]);
      expect(await read({ after: last })).toEqual([]);
      expect(await read({ before: last, limit: 2 })).toEqual([last - 2, last - 1]);
      expect(await read({ before: 1 })).toEqual([0]);
      expect(await read({ before: last + 100, limit: 2 })).toEqual([last - 1, last]);
      expect(await read({ before: -1 })).toEqual([]);
      expect(await read({ after: -2, limit: 1 })).toEqual([0]);
      expect(await read({ types: ['turn/end', 'session/created'] })).toEqual([0, last]);
      expect(await read({ turn: 1 })).toEqual(events.filter(({ turn }) => turn === 1).map(({ seq }) => seq));
      expect(await read({ turn: 2 })).toEqual([]);
    });

    it('has what another process wrote meanwhile, and is written on after it', async () => {
      const session = await fixture.session();
      await session.append(title('mine', 'k'));
      const other = await fixture.beside();
      const theirs = (...events: NewEvent[]) =>
        other.transact(session.uid, (transaction) => transaction.append(events));
      expect((await theirs(title('again', 'k'), title('theirs')))[1]?.seq).toBe(2);
      expect(await session.state()).toMatchObject({ title: 'theirs', headSeq: 2 });
      await theirs(title('later'));
      expect((await session.append(title('last')))[0]?.seq).toBe(4);
      const tail = await other.readTail(session.uid, { seq: 3, frame: 0, limit: 10 });
      expect(tail.events.map(({ data }) => data)).toEqual([{ title: 'last', source: 'user' }]);
    });

    it('is whole while others write, also by a store that has just started', async () => {
      const session = await fixture.session();
      await session.append(...Array.from({ length: 50 }, (_, n) => title(n.toString())));
      const store = await fixture.reopen();
      const reads: Promise<number>[] = [];
      for (let n = 0; n < 20; n++) {
        reads.push(store.readState(session.uid).then(({ headSeq }) => headSeq));
        reads.push(
          store.readTail(session.uid, { seq: -1, frame: 0, limit: 1000 }).then(({ headSeq }) => headSeq),
        );
        reads.push(session.append(title('more')).then(([event]) => event!.seq));
      }
      for (const seq of await Promise.all(reads)) expect(seq).toBeGreaterThanOrEqual(50);
      expect((await session.state()).headSeq).toBe(70);
    });
  });
}
