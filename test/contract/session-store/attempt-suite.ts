/** Attempts: the store says who may write, and refuses whoever was given up. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { AttemptRef, StagedResult } from '../../../src/store/session-store.js';
import { expectCode, owner, run, useStore, type OpenStore, type TestSession } from './store-fixture.js';

const MODEL = { turn: 1, step: 1 };
const CALL = { turn: 1, step: 1, call: 0 };

function staged(index: number, text: string): StagedResult {
  return { index, content: [{ type: 'text', text }], isError: false, contexts: [], durationMs: 1 };
}

/** Everything that an attempt could write is refused. */
async function expectFenced(session: TestSession, ref: AttemptRef): Promise<void> {
  const before = await session.state();
  await expectCode(session.frame(ref, 'late'), 'ATTEMPT_FENCED');
  await expectCode(
    session.transact((transaction) => transaction.closeAttempt(ref)),
    'ATTEMPT_FENCED',
  );
  await expectCode(
    session.transact((transaction) => transaction.requireAttempt(ref)),
    'ATTEMPT_FENCED',
  );
  expect(await session.state()).toEqual(before);
}

async function expectRunning(session: TestSession, ref: AttemptRef): Promise<void> {
  await session.transact((transaction) => transaction.requireAttempt(ref));
}

export function describeAttempts(open: OpenStore): void {
  describe('an attempt', () => {
    const fixture = useStore(open);
    let session: TestSession;
    beforeEach(async () => {
      session = await fixture.session();
      await session.prompt();
      await session.enter();
    });

    it('is allotted from 1 on, apart for the model and for each call', async () => {
      expect(await session.openAttempt(MODEL)).toEqual({ kind: 'granted', attempt: 1, lost: [] });
      await session.message(2);
      expect(await session.openAttempt(CALL)).toMatchObject({ kind: 'granted', attempt: 1 });
      expect(await session.openAttempt({ ...CALL, call: 1 })).toMatchObject({ kind: 'granted', attempt: 1 });
      const running = await session.transact((transaction) => transaction.runningAttempts(1, 1));
      expect(running).toEqual([
        { ...MODEL, attempt: 1 },
        { ...CALL, attempt: 1 },
        { ...CALL, call: 1, attempt: 1 },
      ]);
    });

    it('gives up the ones before it that still run, and names them', async () => {
      const first = await session.attempt();
      expect(await session.openAttempt(MODEL, owner({ engineAttempt: 2 }))).toEqual({
        kind: 'granted',
        attempt: 2,
        lost: [1],
      });
      await expectFenced(session, first);
      await expectRunning(session, { ...MODEL, attempt: 2 });
      await session.transact((transaction) => transaction.closeAttempt({ ...MODEL, attempt: 2 }));
      expect(await session.openAttempt(MODEL, owner({ engineAttempt: 3 }))).toEqual({
        kind: 'granted',
        attempt: 3,
        lost: [],
      });
    });

    it('gives up none at other calls', async () => {
      await session.message(2);
      const [first, second] = [await session.attempt(0), await session.attempt(1)];
      await session.attempt(0, owner({ engineAttempt: 2 }));
      await expectFenced(session, first);
      await expectRunning(session, second);
    });

    it('is numbered after those that the log has settled', async () => {
      await session.append({
        type: 'assistant/attempt',
        turn: 1,
        step: 1,
        data: { attempt: 4, outcome: 'lost', shownCharacters: 0 },
      });
      expect(await session.openAttempt(MODEL)).toMatchObject({ attempt: 5 });
    });

    it('is granted again to the same try of the same activity, which the engine may repeat', async () => {
      await session.attempt();
      expect(await session.openAttempt(MODEL)).toEqual({ kind: 'granted', attempt: 2, lost: [1] });
    });

    it('is stale for a try of an activity that a later one has overtaken', async () => {
      const later = await session.attempt(undefined, owner({ engineAttempt: 3 }));
      expect(await session.openAttempt(MODEL, owner({ engineAttempt: 2 }))).toEqual({ kind: 'stale' });
      await expectRunning(session, later);
    });

    it('goes to another run, which takes the turn over', async () => {
      const first = await session.attempt(undefined, owner({ run: run(10), engineAttempt: 9 }));
      const grant = await session.openAttempt(MODEL, owner({ run: run(20) }));
      expect(grant).toEqual({ kind: 'granted', attempt: 2, lost: [1] });
      await expectFenced(session, first);
      expect(await session.openAttempt(MODEL, owner({ run: run(10), engineAttempt: 10 }))).toEqual({
        kind: 'superseded',
      });
      await expectRunning(session, { ...MODEL, attempt: 2 });
    });

    it('is refused to each run that has lost the turn', async () => {
      for (const n of [1, 2, 3]) await session.attempt(undefined, owner({ run: run(n) }));
      for (const n of [1, 2]) {
        expect(await session.openAttempt(MODEL, owner({ run: run(n), engineAttempt: 9 }))).toEqual({
          kind: 'superseded',
        });
      }
    });

    it('is superseded where its step or its turn is not the open one', async () => {
      const places = [
        { turn: 1, step: 2 },
        { turn: 2, step: 1 },
        { turn: 0, step: 1 },
      ];
      for (const place of places) expect(await session.openAttempt(place)).toEqual({ kind: 'superseded' });
      await session.message();
      await session.end();
      expect(await session.openAttempt(MODEL)).toEqual({ kind: 'superseded' });
    });

    it('can be ended once', async () => {
      const ref = await session.attempt();
      await session.transact((transaction) => transaction.closeAttempt(ref));
      await expectFenced(session, ref);
    });

    it('writes nothing of a transaction in which it turns out to be fenced', async () => {
      const ref = await session.attempt();
      await session.attempt(undefined, owner({ engineAttempt: 2 }));
      const { headSeq } = await session.state();
      const late = session.transact(async (transaction) => {
        await transaction.append([{ type: 'todo/write', data: { todos: [] } }]);
        await transaction.closeAttempt(ref);
      });
      await expectCode(late, 'ATTEMPT_FENCED');
      expect(await session.state()).toMatchObject({ headSeq });
    });

    it('is fenced by the end of its step, and so is every other one of it', async () => {
      const model = await session.attempt();
      await session.message(2);
      const [first, second] = [await session.attempt(0), await session.attempt(1)];
      await session.nextStep();
      for (const ref of [model, first, second]) await expectFenced(session, ref);
      expect(await session.transact((transaction) => transaction.runningAttempts(1, 1))).toEqual([]);
      expect(await session.openAttempt({ turn: 1, step: 2 })).toMatchObject({ attempt: 1, lost: [] });
    });

    it('is remembered by a store that starts again', async () => {
      await session.attempt(undefined, owner({ run: run(9) }));
      const ref = await session.attempt(undefined, owner({ run: run(10) }));
      await fixture.reopen();
      await expectRunning(session, ref);
      expect(await session.openAttempt(MODEL, owner({ run: run(9) }))).toEqual({ kind: 'superseded' });
      expect(await session.openAttempt(MODEL, owner({ run: run(10), engineAttempt: 2 }))).toEqual({
        kind: 'granted',
        attempt: 3,
        lost: [2],
      });
    });

    it('is not known to another session', async () => {
      const ref = await session.attempt();
      const other = await fixture.session();
      await other.prompt();
      await other.enter();
      await expectFenced(other, ref);
    });
  });

  describe('a turn', () => {
    const fixture = useStore(open);
    const claim = (session: TestSession, turn: number, n: number) =>
      session.transact((transaction) => transaction.claimTurn(turn, run(n)));

    it('belongs to the run that claims it, until one that never had it does', async () => {
      const session = await fixture.session();
      await session.prompt();
      expect(await claim(session, 1, 10)).toEqual({ kind: 'held' });
      expect(await claim(session, 1, 10)).toEqual({ kind: 'held' });
      expect(await claim(session, 1, 9)).toEqual({ kind: 'taken-over', formerRuns: 1 });
      await fixture.reopen();
      expect(await claim(session, 1, 10)).toEqual({ kind: 'refused' });
      expect(await claim(session, 1, 9)).toEqual({ kind: 'held' });
      expect(await claim(session, 1, 11)).toEqual({ kind: 'taken-over', formerRuns: 2 });
      expect(await claim(session, 1, 9)).toEqual({ kind: 'refused' });
    });

    it('that has ended, or that there is not, belongs to nobody', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.wholeTurn();
      expect(await claim(session, 1, 10)).toEqual({ kind: 'refused' });
      expect(await claim(session, 2, 10)).toEqual({ kind: 'refused' });
    });
  });

  describe('a staged result', () => {
    const fixture = useStore(open);
    const stagedOf = (session: TestSession) => session.transact((transaction) => transaction.staged(1, 1));
    const stage = (session: TestSession, result: StagedResult) =>
      session.transact((transaction) => transaction.stage(1, 1, result));
    let session: TestSession;
    beforeEach(async () => {
      session = await fixture.session();
      await session.prompt();
      await session.enter();
      await session.message(3);
    });

    it('waits in the order of the calls, whatever came first', async () => {
      await stage(session, staged(2, 'c'));
      await stage(session, staged(0, 'a'));
      await stage(session, staged(1, 'b'));
      await fixture.reopen();
      expect(await stagedOf(session)).toEqual([staged(0, 'a'), staged(1, 'b'), staged(2, 'c')]);
    });

    it('is the first one of its call', async () => {
      await stage(session, staged(0, 'first'));
      await stage(session, staged(0, 'second'));
      expect(await stagedOf(session)).toEqual([staged(0, 'first')]);
    });

    it('keeps all that it says', async () => {
      const full: StagedResult = {
        index: 0,
        content: [{ type: 'text', text: 'a\0\ud800' }],
        isError: true,
        error: { name: 'E', code: 'TOOL_ERROR' },
        meta: { z: 1, a: [{ y: 2, b: 3 }] },
        contexts: [[{ type: 'text', text: 'c' }]],
        durationMs: 12,
      };
      await stage(session, full);
      const [back] = await stagedOf(session);
      expect(JSON.stringify(back)).toBe(JSON.stringify(full));
    });

    it('is dropped at the end of its step, and is none of any other step', async () => {
      await stage(session, staged(0, 'a'));
      await session.nextStep();
      expect(await stagedOf(session)).toEqual([]);
      expect(await session.transact((transaction) => transaction.staged(1, 2))).toEqual([]);
    });
  });
}
