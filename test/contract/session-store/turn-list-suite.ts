/** Lists of turns: what a filter means, and pages that stay whole while turns are added, entered and ended. */
import { describe, expect, it } from 'vitest';
import type { RequestId } from '../../../src/contract/ids.js';
import type { TurnFilter, TurnPlace, TurnRecord } from '../../../src/store/session-store.js';
import { useStore, type OpenStore, type TestSession } from './store-fixture.js';

export function describeTurnLists(open: OpenStore): void {
  describe('the list of turns across sessions', () => {
    const fixture = useStore(open);
    const list = (query: TurnFilter & { readonly limit?: number; readonly before?: TurnPlace } = {}) =>
      fixture.store.listTurnsOfTenant('tenant', { limit: 100, ...query });
    const placesOf = (turns: readonly TurnRecord[]) => turns.map(({ uid, turn }) => `${uid}/${String(turn)}`);
    const place = (session: TestSession, turn: number) => `${session.uid}/${String(turn)}`;
    const wholeTurn = async (session: TestSession) => {
      await session.prompt('queue', { requestId: `r-${Math.random().toString()}` as RequestId });
      await session.wholeTurn();
    };

    it('has the turns of all sessions of its tenant, newest first', async () => {
      const [a, b, other] = [
        await fixture.session(),
        await fixture.session(),
        await fixture.session('other'),
      ];
      await wholeTurn(a);
      await wholeTurn(b);
      await wholeTurn(other);
      await wholeTurn(a);
      await b.prompt();
      const turns = await list();
      expect(new Set(placesOf(turns))).toEqual(new Set([place(a, 1), place(b, 1), place(a, 2), place(b, 2)]));
      const opened = turns.map(({ openedAt }) => openedAt);
      expect(opened).toEqual(opened.toSorted().reverse());
      expect(turns.find(({ ended }) => !ended)).toMatchObject({ uid: b.uid, turn: 2 });
    });

    it('is paged with each turn once, also while turns are added, entered and ended', async () => {
      const sessions = [];
      for (let n = 0; n < 5; n++) {
        const session = await fixture.session();
        await wholeTurn(session);
        await session.prompt();
        sessions.push(session);
      }
      const before = placesOf(await list());
      const seen: string[] = [];
      let last: TurnRecord | undefined;
      for (;;) {
        const page: readonly TurnRecord[] = await list({
          limit: 3,
          ...(last === undefined ? {} : { before: last }),
        });
        if (page.length === 0) break;
        seen.push(...placesOf(page));
        last = page.at(-1);
        const session = sessions.shift();
        await session?.wholeTurn();
        await (await fixture.session()).prompt();
      }
      expect(seen).toEqual(before);
    });

    it('can be of one status, which follows the log', async () => {
      const of = async (status: NonNullable<TurnFilter['status']>) => placesOf(await list({ status }));
      const session = await fixture.session();
      await wholeTurn(session);
      await session.prompt();
      expect([await of('ended'), await of('running')]).toEqual([[place(session, 1)], [place(session, 2)]]);
      await session.enter();
      await session.append({ type: 'turn/cancel-requested', turn: 2, data: { by: 'ann' } });
      expect([await of('running'), await of('cancelling')]).toEqual([[], [place(session, 2)]]);
      expect(placesOf(await fixture.store.listTurns(session.uid, { limit: 10, status: 'ended' }))).toEqual([
        place(session, 1),
      ]);
    });

    it('can be of one profile, the one that a turn had at its entry', async () => {
      const session = await fixture.session();
      await wholeTurn(session);
      const changes = { profile: 'careful' };
      await session.append({ type: 'session/settings', data: { changes, by: 'ann' } });
      await wholeTurn(session);
      expect(placesOf(await list({ profile: 'default' }))).toEqual([place(session, 1)]);
      expect(placesOf(await list({ profile: 'careful' }))).toEqual([place(session, 2)]);
      expect(await list({ profile: 'none' })).toEqual([]);
    });

    it('can be of those that started in a time, the start included and the end not', async () => {
      const session = await fixture.session();
      for (let n = 0; n < 3; n++) await wholeTurn(session);
      const turns = (await fixture.store.listTurns(session.uid, { limit: 10 })).toReversed();
      const [first, second] = turns;
      const expected = (keep: (turn: TurnRecord) => boolean) => placesOf(turns.filter(keep)).toReversed();
      const since = second!.startedAt;
      expect(placesOf(await list({ since }))).toEqual(expected(({ startedAt }) => startedAt >= since));
      expect(placesOf(await list({ until: since }))).toEqual(expected(({ startedAt }) => startedAt < since));
      expect(placesOf(await list({ since: first!.startedAt, until: '9999' }))).toHaveLength(3);
      expect(await list({ since: '9999' })).toEqual([]);
    });

    it('finds a turn by its start however long before that it was opened', async () => {
      const session = await fixture.session();
      await session.prompt();
      const [{ openedAt }] = (await list()) as [TurnRecord];
      // The clock of the log has to move on between the two.
      while (new Date().toISOString() <= openedAt) await new Promise((resolve) => setImmediate(resolve));
      await session.enter();
      const [{ startedAt }] = (await list()) as [TurnRecord];
      expect(startedAt > openedAt).toBe(true);
      expect(placesOf(await list({ since: startedAt }))).toEqual([place(session, 1)]);
    });

    it('can be of what the metadata of the session is now, all entries together', async () => {
      const session = await fixture.session();
      const other = await fixture.session();
      const metadata = { team: 'docs', run: '7' };
      await session.append({ type: 'session/settings', data: { changes: { metadata }, by: 'ann' } });
      await wholeTurn(session);
      await wholeTurn(other);
      const of = async (entries: Record<string, string>) => placesOf(await list({ metadata: entries }));
      expect(await of({ team: 'docs' })).toEqual([place(session, 1)]);
      expect(await of({ team: 'docs', run: '7' })).toEqual([place(session, 1)]);
      expect(await of({ team: 'docs', run: '8' })).toEqual([]);
      await session.append({
        type: 'session/settings',
        data: { changes: { metadata: { team: 'web' } }, by: 'ann' },
      });
      expect([await of({ team: 'docs' }), await of({ team: 'web' })]).toEqual([[], [place(session, 1)]]);
    });
  });
}
