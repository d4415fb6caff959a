/** Sessions that leave a store whole and come back: what is read of one, and how an import becomes visible at once. */
import { describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { NewArchivedSession } from '../../../src/store/archive-store.js';
import type { RequestId, SessionId, SessionUid } from '../../../src/contract/ids.js';
import { sessionScope } from '../../../src/store/admission.js';
import type { StoreNotice } from '../../../src/store/session-store.js';
import { expectCode, title, useStore, type OpenStore, type TestSession } from './store-fixture.js';

const nothing = () => Promise.resolve();

function target(changes: Partial<NewArchivedSession> = {}): NewArchivedSession {
  return { tenant: 'tenant', id: `copy-${uuidv7()}` as SessionId, uid: uuidv7() as SessionUid, ...changes };
}

async function archived(session: TestSession, limit = 1000) {
  const { headSeq } = await session.record();
  return session.store.archive.read(session.uid, { after: -1, upTo: headSeq, limit });
}

export function describeArchive(open: OpenStore): void {
  describe('an archive', () => {
    const fixture = useStore(open);

    async function full(): Promise<TestSession> {
      const session = await fixture.session();
      const large = [{ type: 'text', text: 'x'.repeat(100_000) } as const];
      await session.prompt('queue', {
        requestId: 'first' as RequestId,
        content: large,
        bodySha256: 'body 1',
      });
      await session.wholeTurn();
      await session.prompt('queue', { requestId: 'second' as RequestId, bodySha256: 'body 2' });
      await session.enter();
      return session;
    }

    it('has every event with its key, and each prompt with what its request is known by', async () => {
      const session = await full();
      const entries = await archived(session);
      expect(entries.map(({ event }) => event)).toEqual(await session.events());
      const prompts = entries.filter(({ request }) => request !== undefined);
      expect(prompts.map(({ key, request }) => [key, request])).toEqual([
        ['prompt/first', { bodySha256: 'body 1', cursorSeq: 0 }],
        ['prompt/second', { bodySha256: 'body 2', cursorSeq: expect.any(Number) as number }],
      ]);
      expect(await archived(session, 3)).toEqual(entries.slice(0, 3));
      expect(await session.store.archive.blobs(session.uid)).toHaveLength(1);
    });

    it('makes a session that is the other one in all but its names, with lists, requests and turns', async () => {
      const session = await full();
      const entries = await archived(session);
      const copy = target();
      const work = await fixture.store.archive.beginImport(copy);
      for (const sha256 of await fixture.store.archive.blobs(session.uid)) {
        const { bytes, mediaType } = (await fixture.store.readBlob(session.uid, sha256))!;
        expect(await work.saveBlob(bytes, mediaType)).toBe(sha256);
      }
      for (const entry of entries) await work.add([entry]);
      expect(work.state).toEqual(await session.state());
      const record = await work.commit(nothing);
      expect(record).toMatchObject({ id: copy.id, uid: copy.uid, headSeq: entries.length - 1, openTurn: 2 });
      for (const restarted of [false, true]) {
        const store = restarted ? await fixture.reopen() : fixture.store;
        const renamed = (await session.events()).map((event) => ({ ...event, sessionId: copy.id }));
        expect(await store.readEvents(copy.uid, { limit: 1000 })).toEqual(renamed);
        const turns = await store.listTurns(copy.uid, { limit: 10 });
        const others = await store.listTurns(session.uid, { limit: 10 });
        expect(turns).toEqual(others.map((turn) => ({ ...turn, uid: copy.uid, sessionId: copy.id })));
        expect(await store.findRequest(sessionScope(copy.uid), 'first' as RequestId)).toMatchObject({
          bodySha256: 'body 1',
          turn: 1,
        });
        expect((await store.listSessions({ tenant: 'tenant', limit: 1 }))[0]?.uid).toBe(copy.uid);
      }
    });

    it('is not to be seen before it is committed, tells of itself once, and takes no id that is taken', async () => {
      const session = await full();
      const entries = await archived(session);
      const notices: StoreNotice[] = [];
      const copy = target();
      const [work, other] = [
        await fixture.store.archive.beginImport(copy),
        await fixture.store.archive.beginImport(target({ id: copy.id })),
      ];
      const unwatch = fixture.store.watch(null, (notice) => notices.push(notice));
      await work.add(entries);
      await other.add(entries);
      expect(notices).toEqual([]);
      expect(await fixture.store.findSession('tenant', copy.id)).toBeUndefined();
      expect(await fixture.store.listTurnsOfTenant('tenant', { limit: 10 })).toHaveLength(2);
      expect(await fixture.store.openTurns('9999')).toHaveLength(1);
      await expectCode(
        fixture.store.archive.beginImport(target({ id: session.uid as never })),
        'SESSION_CONFLICT',
      );
      await work.commit(async (transaction) => {
        await transaction.append([title('Imported')]);
      });
      unwatch();
      expect(notices).toEqual([
        { kind: 'events', uid: copy.uid, afterSeq: -1, headSeq: entries.length, isImport: true },
      ]);
      expect((await fixture.store.readState(copy.uid)).title).toBe('Imported');
      await expectCode(other.commit(nothing), 'SESSION_CONFLICT');
      await other.abandon();
    });

    it('is gone without a trace where it is abandoned, where its end fails, and after that takes no more', async () => {
      const session = await full();
      const entries = await archived(session);
      const copy = target();
      const work = await fixture.store.archive.beginImport(copy);
      await work.add(entries);
      await expect(work.commit(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
      expect(await fixture.store.findSessionByUid(copy.uid)).toBeUndefined();
      await work.abandon();
      await expectCode(work.add([]), 'INVALID_EVENT');
      await expectCode(work.commit(nothing), 'INVALID_EVENT');
      const again = await fixture.store.archive.beginImport(copy);
      await again.add(entries);
      expect((await again.commit(nothing)).headSeq).toBe(entries.length - 1);
    });

    it('refuses a key that stands already, with nothing of that piece added', async () => {
      const session = await full();
      const entries = await archived(session);
      const work = await fixture.store.archive.beginImport(target());
      await work.add(entries);
      const [, prompt] = entries;
      const twice = { ...prompt!, event: { ...prompt!.event, seq: entries.length } };
      await expectCode(work.add([twice]), 'INVALID_EVENT');
      expect(work.state.headSeq).toBe(entries.length - 1);
    });
  });
}
