/** Sessions, turns and their lists; what a deletion leaves behind, and what a new start finds. */
import { describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { RequestId, SessionId, SessionUid } from '../../../src/contract/ids.js';
import type { SessionStatus } from '../../../src/contract/http.js';
import type { CreateSession, StoreNotice } from '../../../src/store/session-store.js';
import { sessionScope, tenantScope } from '../../../src/store/admission.js';
import { expectCode, title, useStore, type OpenStore, type TestSession } from './store-fixture.js';

function creation(id: string, changes: Partial<CreateSession> = {}): CreateSession {
  return {
    tenant: 'tenant',
    id: id as SessionId,
    uid: uuidv7() as SessionUid,
    settings: { workspace: '/workspace', profile: 'default', metadata: { z: '1', a: '2' } },
    bodySha256: 'body',
    ...changes,
  };
}

export function describeSessions(open: OpenStore): void {
  describe('a session', () => {
    const fixture = useStore(open);

    it('begins with its settings, and with its title where it has one', async () => {
      const given = creation('s', { title: 'Mine' });
      const { record, created } = await fixture.store.createSession(given);
      expect(created).toBe(true);
      expect(record).toMatchObject({ id: 's', uid: given.uid, tenant: 'tenant', status: 'idle', headSeq: 1 });
      expect(record.openTurn).toBeNull();
      const events = await fixture.store.readEvents(given.uid, { limit: 10 });
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        ['session/created', { settings: given.settings }],
        ['session/title', { title: 'Mine', source: 'user' }],
      ]);
      expect(await fixture.store.findSession('tenant', given.id)).toEqual(record);
      expect(await fixture.store.findSessionByUid(given.uid)).toEqual(record);
    });

    it('is created once: the same id and body find it, another body is a conflict', async () => {
      const first = await fixture.store.createSession(creation('s'));
      const again = await fixture.store.createSession(creation('s', { title: 'unheard' }));
      expect(again).toEqual({ record: first.record, created: false });
      await expectCode(
        fixture.store.createSession(creation('s', { bodySha256: 'other' })),
        'SESSION_CONFLICT',
      );
      expect(await fixture.store.readEvents(first.record.uid, { limit: 10 })).toHaveLength(1);
    });

    it('is created once by many at the same time', async () => {
      const results = await Promise.all(
        Array.from({ length: 20 }, () => fixture.store.createSession(creation('s'))),
      );
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(results.map(({ record }) => record.uid)).size).toBe(1);
    });

    it('is created with the work in its transaction or not at all, and is told of once', async () => {
      const notices: StoreNotice[] = [];
      fixture.store.watch(null, (notice) => notices.push(notice));
      const refused = creation('s');
      const failure = new Error('refused');
      const failing = fixture.store.createSession(refused, async (transaction) => {
        await transaction.append([title('lost')]);
        throw failure;
      });
      await expect(failing).rejects.toBe(failure);
      expect(await fixture.store.findSession('tenant', refused.id)).toBeUndefined();
      expect(notices).toEqual([]);
      const taken = creation('s');
      const created = await fixture.store.createSession(taken, async (transaction) => {
        await transaction.append([title('kept')]);
        return transaction.state.title;
      });
      expect(created).toMatchObject({ created: true, first: 'kept', record: { headSeq: 1 } });
      expect(await fixture.store.readState(taken.uid)).toMatchObject({ title: 'kept', headSeq: 1 });
      expect(notices).toEqual([{ kind: 'events', uid: taken.uid, afterSeq: -1, headSeq: 1 }]);
      const again = await fixture.store.createSession(taken, () => Promise.reject(failure));
      expect(again).toMatchObject({ created: false, record: { uid: taken.uid } });
      expect(again).not.toHaveProperty('first');
    });

    it('is of one tenant: another one has its own of the same id, and sees neither', async () => {
      const [mine, theirs] = [creation('s'), creation('s', { tenant: 'other', bodySha256: 'other' })];
      await fixture.store.createSession(mine);
      expect((await fixture.store.createSession(theirs)).created).toBe(true);
      expect(await fixture.store.findSession('tenant', mine.id)).toMatchObject({ uid: mine.uid });
      expect(await fixture.store.findSession('other', mine.id)).toMatchObject({ uid: theirs.uid });
      expect(await fixture.store.findSession('third', mine.id)).toBeUndefined();
      const list = await fixture.store.listSessions({ tenant: 'other', limit: 10 });
      expect(list.map(({ uid }) => uid)).toEqual([theirs.uid]);
      expect(await fixture.store.listSessions({ tenant: 'third', limit: 10 })).toEqual([]);
    });
  });

  describe('the list of sessions', () => {
    const fixture = useStore(open);

    it('has the newest first, page by page, each once, also while new ones come', async () => {
      const uids: string[] = [];
      for (let n = 0; n < 7; n++) uids.unshift((await fixture.session()).uid);
      const seen: string[] = [];
      let before: string | undefined;
      for (;;) {
        const page = await fixture.store.listSessions({
          tenant: 'tenant',
          limit: 3,
          ...(before === undefined ? {} : { before }),
        });
        if (page.length === 0) break;
        seen.push(...page.map(({ uid }) => uid));
        before = seen.at(-1);
        await fixture.session();
      }
      expect(seen).toEqual(uids);
    });

    it('can be of one status, which follows the log', async () => {
      const of = async (status: SessionStatus) =>
        (await fixture.store.listSessions({ tenant: 'tenant', limit: 10, status })).map(({ uid }) => uid);
      const session = await fixture.session();
      const idle = await fixture.session();
      expect(await of('idle')).toEqual([idle.uid, session.uid]);
      await session.prompt();
      expect([await of('idle'), await of('running')]).toEqual([[idle.uid], [session.uid]]);
      await session.enter();
      await session.append({
        type: 'llm/retry',
        turn: 1,
        step: 1,
        data: {
          attempt: 1,
          delayMs: 5,
          retryAt: '2026-01-01T00:00:00.000Z',
          code: 'SERVER',
          from: 'backoff',
        },
      });
      expect([await of('running'), await of('retrying')]).toEqual([[], [session.uid]]);
      await session.append({ type: 'turn/cancel-requested', turn: 1, data: { by: 'ann' } });
      expect(await of('cancelling')).toEqual([session.uid]);
      await session.end({ kind: 'aborted', cause: 'user', by: 'ann' });
      expect(await of('idle')).toEqual([idle.uid, session.uid]);
    });
  });

  describe('a turn', () => {
    const fixture = useStore(open);

    it('is listed newest first, with what it was for and how it ended', async () => {
      const session = await fixture.session();
      for (const name of ['a', 'b', 'c']) {
        await session.prompt('queue', { requestId: name as RequestId });
        await session.wholeTurn();
      }
      await session.prompt();
      const list = async (limit: number, before?: number) =>
        (
          await fixture.store.listTurns(session.uid, { limit, ...(before === undefined ? {} : { before }) })
        ).map(({ turn }) => turn);
      expect(await list(10)).toEqual([4, 3, 2, 1]);
      expect(await list(2)).toEqual([4, 3]);
      expect(await list(2, 3)).toEqual([2, 1]);
      expect(await list(2, 1)).toEqual([]);
      const record = await fixture.store.findTurn(session.uid, 2);
      const { id } = await session.record();
      expect(record).toMatchObject({
        uid: session.uid,
        sessionId: id,
        ended: true,
        requestIds: ['b'],
        reason: { kind: 'completed' },
        output: 'Answer.',
        steps: 1,
      });
      expect(record!.endedAt! >= record!.startedAt).toBe(true);
      const open4 = await fixture.store.findTurn(session.uid, 4);
      expect(open4).toMatchObject({ ended: false, steps: 0 });
      expect(open4).not.toHaveProperty('endedAt');
      expect(await fixture.store.findTurn(session.uid, 5)).toBeUndefined();
    });

    it('that is open is found by the sweeper once its log has been quiet, entered or not', async () => {
      const [due, entered, idle] = [
        await fixture.session(),
        await fixture.session(),
        await fixture.session(),
      ];
      await due.prompt();
      await entered.prompt();
      await entered.enter();
      await entered.append({ type: 'turn/cancel-requested', turn: 1, data: { by: 'ann' } });
      await idle.append(title('idle'));
      const { updatedAt } = await entered.record();
      const found = await fixture.store.openTurns(updatedAt);
      expect(found.find(({ uid }) => uid === due.uid)).toMatchObject({ turn: 1, cancelRequested: false });
      expect(found.find(({ uid }) => uid === entered.uid)).toMatchObject({
        sessionId: (await entered.record()).id,
        turn: 1,
        updatedAt,
        cancelRequested: true,
      });
      expect(found).toHaveLength(2);
      const earlier = new Date(Date.parse((await due.record()).updatedAt) - 1).toISOString();
      expect(await fixture.store.openTurns(earlier)).toEqual([]);
    });
  });

  describe('a deletion', () => {
    const fixture = useStore(open);

    async function fill(session: TestSession): Promise<void> {
      const large = [{ type: 'text', text: 'x'.repeat(100_000) } as const];
      await session.prompt('queue', { requestId: 'r' as RequestId, content: large });
      await session.enter();
      await session.frame(await session.attempt(), 'x');
      await session.message(1);
      await session.transact(async (transaction) => {
        await transaction.stage(1, 1, { index: 0, content: [], isError: false, contexts: [], durationMs: 0 });
        await transaction.claimRequest(tenantScope('tenant'), 'job' as RequestId, {
          bodySha256: 'b',
          itemId: 'i' as never,
          cursorSeq: 0,
        });
      });
    }

    it('takes the session with all that it had, and leaves the others', async () => {
      const [gone, kept] = [await fixture.session(), await fixture.session('other')];
      await fill(gone);
      await kept.prompt();
      await kept.enter();
      await kept.frame(await kept.attempt(), 'kept');
      const before = await kept.events();
      expect(await fixture.store.deleteSession(gone.uid)).toBe(true);
      expect(await fixture.store.deleteSession(gone.uid)).toBe(false);
      for (const restarted of [false, true]) {
        const store = restarted ? await fixture.reopen() : fixture.store;
        expect(await store.findSessionByUid(gone.uid)).toBeUndefined();
        await expectCode(store.readState(gone.uid), 'SESSION_NOT_FOUND');
        expect(await store.listTurns(gone.uid, { limit: 10 })).toEqual([]);
        expect(await store.openTurns('9999')).toHaveLength(1);
        expect(await store.findRequest(sessionScope(gone.uid), 'r' as RequestId)).toBeUndefined();
        expect(await store.findRequest(tenantScope('tenant'), 'job' as RequestId)).toBeUndefined();
        expect(await kept.events()).toEqual(before);
        const tail = await store.readTail(kept.uid, { seq: -1, frame: 0, limit: 100 });
        expect(tail.frames).toHaveLength(1);
      }
    });

    it('fences what still runs, and frees the id for a session that is another one', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const ref = await session.attempt();
      const { id } = await session.record();
      await fixture.store.deleteSession(session.uid);
      await expectCode(session.frame(ref, 'late'), 'ATTEMPT_FENCED');
      await expectCode(session.append(title('late')), 'SESSION_NOT_FOUND');
      const next = creation(id);
      expect((await fixture.store.createSession(next)).created).toBe(true);
      expect(await fixture.store.readEvents(next.uid, { limit: 10 })).toHaveLength(1);
      expect(await fixture.store.findSession('tenant', id)).toMatchObject({ uid: next.uid, openTurn: null });
    });
  });

  describe('a new start', () => {
    const fixture = useStore(open);

    it('finds everything as it was', async () => {
      const session = await fixture.session();
      const id = 'steer' as RequestId;
      await session.prompt();
      await session.wholeTurn();
      await session.prompt('queue', { content: [{ type: 'text', text: 'x'.repeat(100_000) }] });
      await session.enter();
      await session.frame(await attemptIn2(session), 'shown');
      await session.prompt('steer', { requestId: id });
      const all = async () => ({
        state: await session.state(),
        events: await session.events(),
        record: await session.record(),
        turns: await fixture.store.listTurns(session.uid, { limit: 10 }),
        tail: await fixture.store.readTail(session.uid, { seq: -1, frame: 0, limit: 1000 }),
        request: await fixture.store.findRequest(sessionScope(session.uid), id),
        open: await fixture.store.openTurns('9999'),
      });
      const before = await all();
      expect(before.tail.frames).toHaveLength(1);
      await fixture.reopen();
      expect(await all()).toEqual(before);
    });

    it('answers while it is open, and not after it was closed', async () => {
      expect(await fixture.store.ping()).toBe(true);
      const old = fixture.store;
      await fixture.reopen();
      expect(await old.ping()).toBe(false);
      expect(await fixture.store.ping()).toBe(true);
    });
  });
}

async function attemptIn2(session: TestSession) {
  const place = { turn: 2, step: 1 };
  const grant = await session.openAttempt(place);
  if (grant.kind !== 'granted') throw new Error(grant.kind);
  return { ...place, attempt: grant.attempt };
}
