import { afterEach, describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import { decisionsAnswerSchema } from '../../src/contract/http-asks.js';
import type { ApprovalId } from '../../src/contract/ids.js';
import { StoreError } from '../../src/store/session-store.js';
import { call, startApi, withMethods, type ApiServer } from './api-server.js';
import { AskedTurn } from './asked-turn.js';

let api: ApiServer;
afterEach(() => api.stop());

const decide = async (decisions: readonly object[]) => {
  const answer = await call(`${api.url}/v1/approvals`, 'POST', { decisions });
  expect(answer.status).toBe(200);
  return decisionsAnswerSchema.parse(answer.body).items;
};
const allow = (approvalId: string) => ({ approvalId, outcome: 'allow' });

describe('deciding many approvals', () => {
  it('settles sixty of one session in one transaction, and of the bad ones says what is wrong with each', async () => {
    let transactions = 0;
    api = await startApi({
      checkArguments: () => 'they do not fit',
      wrapStore: (store) =>
        withMethods(store, {
          transact: (uid, work, options) => {
            transactions += 1;
            return store.transact(uid, work, options);
          },
        }),
    });
    const turn = await AskedTurn.start(api, 's', 60);
    const ids = await turn.askAll(60);
    const question = await turn.askQuestion(0, [{ id: 'q', question: 'Which?' }]);
    await call(`${api.url}/v1/approvals/${ids[7]!}`, 'POST', { outcome: 'deny' });
    await turn.close(ids[8]!, 'unavailable');
    transactions = 0;

    const unknown = uuidv7();
    const bad = [
      { decision: allow(ids[7]!), status: 409, code: 'APPROVAL_DECIDED' },
      { decision: allow(ids[8]!), status: 409, code: 'APPROVAL_CLOSED' },
      { decision: allow(unknown), status: 404, code: 'NOT_FOUND' },
      { decision: allow(question), status: 404, code: 'NOT_FOUND' },
      { decision: { ...allow(ids[9]!), arguments: {} }, status: 400, code: 'INVALID_REQUEST' },
      { decision: { ...allow(ids[9]!), match: { command: '*' } }, status: 400, code: 'INVALID_REQUEST' },
      { decision: { approvalId: ids[0], outcome: 'deny' }, status: 409, code: 'APPROVAL_DECIDED' },
      { decision: allow(ids[0]!), status: 200 },
    ];
    const good = ids.filter((id, n) => n < 7 || n > 9);
    const items = await decide([...good.map(allow), ...bad.map(({ decision }) => decision)]);
    expect(items).toEqual([
      ...good.map((approvalId) => ({ approvalId, status: 200 })),
      ...bad.map(({ decision, ...answer }) => ({ approvalId: decision.approvalId, ...answer })),
    ]);
    expect(transactions).toBe(1);
    expect((await api.store.readState(turn.uid)).approvals.map(({ approvalId }) => approvalId)).toEqual([
      ids[9],
    ]);
    const told = new Set(
      api.nudges.map(({ ask }) => (ask?.kind === 'approval' ? ask.approvalId : undefined)),
    );
    for (const id of good) expect(told).toContain(id);
  });

  it('reaches every session that is named', async () => {
    api = await startApi();
    const ids: ApprovalId[] = [];
    for (const name of ['a', 'b', 'c']) ids.push(await (await AskedTurn.start(api, name)).ask(0));
    expect(await decide(ids.map(allow))).toEqual(ids.map((approvalId) => ({ approvalId, status: 200 })));
    for (const name of ['a', 'b', 'c']) {
      expect((await api.store.readState(await api.uidOf(name))).approvals).toEqual([]);
    }
  });

  it('says which ones were not stored where the log of one session fails', async () => {
    let brokenUid = '';
    api = await startApi({
      wrapStore: (store) =>
        withMethods(store, {
          transact: (uid, work, options) =>
            uid === brokenUid
              ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'the disk is full'))
              : store.transact(uid, work, options),
        }),
    });
    const broken = await AskedTurn.start(api, 'broken', 2);
    const lost = await broken.askAll(2);
    const kept = await (await AskedTurn.start(api, 'whole')).ask(0);
    brokenUid = broken.uid;
    expect(await decide([allow(lost[0]!), allow(kept), allow(lost[1]!)])).toEqual([
      { approvalId: lost[0], status: 503, code: 'STORE_UNAVAILABLE' },
      { approvalId: kept, status: 200 },
      { approvalId: lost[1], status: 503, code: 'STORE_UNAVAILABLE' },
    ]);
    expect(api.nudges.filter(({ kind }) => kind === 'decision')).toHaveLength(1);
  });

  it.each<[string, unknown, string]>([
    ['none', { decisions: [] }, 'decisions'],
    ['more than a thousand', { decisions: Array<object>(1001).fill(allow('x')) }, 'decisions'],
    ['one without its approval', { decisions: [{ outcome: 'allow' }] }, 'decisions.0.approvalId'],
    ['one with an unknown field', { decisions: [{ ...allow('x'), colour: 1 }] }, 'decisions.0.colour'],
  ])('refuses %s as a whole', async (_, body, field) => {
    api = await startApi({ settings: { bodyLimitBytes: 1024 * 1024 } });
    const answer = await call(`${api.url}/v1/approvals`, 'POST', body);
    expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_REQUEST', field });
  });
});
