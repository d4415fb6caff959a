/** What every backend promises of approvals and questions: rows that never lag behind the log, in every tenant its own. */
import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../../src/contract/events.js';
import type { ApprovalId, CallId, QuestionId, Sha256 } from '../../../src/contract/ids.js';
import { useStore, type OpenStore } from './store-fixture.js';

const approvalAsked = (id: string): NewEvent => ({
  type: 'approval/asked',
  turn: 1,
  step: 2,
  data: {
    approvalId: id as ApprovalId,
    callId: 'call_1' as CallId,
    tool: 'bash',
    arguments: '{}',
    argumentsSha256: '0'.repeat(64) as Sha256,
    reason: 'It asks.',
  },
});
const approvalDecided = (id: string): NewEvent => ({
  type: 'approval/decided',
  data: { approvalId: id as ApprovalId, outcome: 'allowed', by: 'ann' },
});
const questionAsked = (id: string): NewEvent => ({
  type: 'question/asked',
  data: { questionId: id as QuestionId, callId: 'call_1' as CallId, questions: [] },
});

export function describeAsks(open: OpenStore): void {
  describe('approvals and questions', () => {
    const fixture = useStore(open);
    const all = { tenant: 'ann', kind: 'approval', limit: 100 } as const;
    const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);

    it('are found with their place, and closed by the event that closes them', async () => {
      const session = await fixture.session('ann');
      await session.append(approvalAsked('a1'), questionAsked('q1'));
      const { uid } = session;
      expect(await fixture.store.findAsk('ann', 'a1' as ApprovalId)).toMatchObject({
        id: 'a1',
        kind: 'approval',
        uid,
        turn: 1,
        step: 2,
        askedSeq: 1,
        closedSeq: null,
      });
      await session.append(approvalDecided('a1'));
      expect(await fixture.store.findAsk('ann', 'a1' as ApprovalId)).toMatchObject({ closedSeq: 3 });
      expect(await fixture.store.findAsk('ann', 'q1' as QuestionId)).toMatchObject({ kind: 'question' });
      expect(await fixture.store.findAsk('ann', 'other' as ApprovalId)).toBeUndefined();
      expect(await fixture.store.findAsk('another tenant', 'a1' as ApprovalId)).toBeUndefined();
    });

    it('are listed newest first, by kind, session and state, in pages', async () => {
      const [one, two] = [await fixture.session('ann'), await fixture.session('ann')];
      await one.append(approvalAsked('a1'), approvalAsked('a2'), questionAsked('q1'));
      await two.append(approvalAsked('a3'));
      await one.append(approvalDecided('a2'));
      const { store } = fixture;
      expect(idsOf(await store.listAsks(all))).toEqual(['a3', 'a2', 'a1']);
      expect(idsOf(await store.listAsks({ ...all, kind: 'question' }))).toEqual(['q1']);
      expect(idsOf(await store.listAsks({ ...all, uid: one.uid }))).toEqual(['a2', 'a1']);
      expect(idsOf(await store.listAsks({ ...all, status: 'open' }))).toEqual(['a3', 'a1']);
      expect(idsOf(await store.listAsks({ ...all, status: 'closed' }))).toEqual(['a2']);
      expect(idsOf(await store.listAsks({ ...all, limit: 1, before: 'a3' }))).toEqual(['a2']);
      expect(await store.listAsks({ ...all, tenant: 'another tenant' })).toEqual([]);
    });

    it('go with their session, and never came where their transaction did not', async () => {
      const session = await fixture.session('ann');
      await session.append(approvalAsked('a1'));
      await expect(
        session.transact(async (transaction) => {
          await transaction.append([approvalAsked('a2')]);
          throw new Error('given up');
        }),
      ).rejects.toThrow('given up');
      expect(idsOf(await fixture.store.listAsks(all))).toEqual(['a1']);
      await fixture.store.deleteSession(session.uid);
      expect(await fixture.store.listAsks(all)).toEqual([]);
    });
  });

  describe('the word of the pre-execute hooks', () => {
    const fixture = useStore(open);
    const word = { decision: { kind: 'ask', reason: 'why' }, arguments: { text: 'x' } } as const;

    it('is kept once for a step, apart from staged results, until the step ends', async () => {
      const session = await fixture.session('ann');
      await session.prompt();
      await session.enter();
      await session.transact(async (transaction) => {
        expect(await transaction.preExecuted(1, 1)).toBeNull();
        await transaction.savePreExecuted(1, 1, [null, word]);
        await transaction.savePreExecuted(1, 1, []);
        expect(await transaction.staged(1, 1)).toEqual([]);
      });
      await session.transact(async (transaction) => {
        expect(await transaction.preExecuted(1, 1)).toEqual([null, word]);
        expect(await transaction.preExecuted(1, 2)).toBeNull();
        await transaction.append([{ type: 'step/end', turn: 1, step: 1, data: { next: 'end' } }]);
        expect(await transaction.preExecuted(1, 1)).toBeNull();
      });
    });
  });
}
