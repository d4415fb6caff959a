import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Page } from '../../src/contract/http.js';
import { approvalResourceSchema, type ApprovalResource } from '../../src/contract/http-asks.js';
import type { ApprovalId } from '../../src/contract/ids.js';
import { call, startApi, type ApiServer } from './api-server.js';
import { AskedTurn } from './asked-turn.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

describe('listing approvals', () => {
  const list = async (path: string) =>
    (await call(`${api.url}/v1/${path}`, 'GET')).body as Page<ApprovalResource>;
  const ids = (page: Page<ApprovalResource>) => page.items.map(({ approvalId }) => approvalId);

  it('shows the open ones of all sessions, newest first, page by page', async () => {
    const one = await (await AskedTurn.start(api, 'one', 3)).askAll(3);
    const two = await (await AskedTurn.start(api, 'two', 2)).askAll(2);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Page<ApprovalResource> = await list(
        `approvals?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...ids(page));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual([...one, ...two].reverse());
  });

  it('can be of one session, closed, or all', async () => {
    const turn = await AskedTurn.start(api, 'one', 3);
    const [allowed, open, gone] = (await turn.askAll(3)) as [ApprovalId, ApprovalId, ApprovalId];
    const other = await (await AskedTurn.start(api, 'two')).ask(0);
    await call(`${api.url}/v1/approvals/${allowed}`, 'POST', { outcome: 'allow' });
    await turn.close(gone, 'withdrawn');
    expect(ids(await list('approvals'))).toEqual([other, open]);
    expect(ids(await list('approvals?session=one'))).toEqual([open]);
    expect(ids(await list('sessions/one/approvals'))).toEqual([open]);
    expect(ids(await list('sessions/one/approvals?status=closed'))).toEqual([gone, allowed]);
    expect(ids(await list('approvals?status=closed&limit=1'))).toEqual([gone]);
    expect(ids(await list('approvals?status=all'))).toEqual([other, gone, open, allowed]);
    const [first] = (await list('approvals?status=closed&session=one')).items;
    expect(approvalResourceSchema.parse(first).decision).toMatchObject({ outcome: 'withdrawn' });
  });

  it.each([
    ['approvals?status=pending', 400, 'INVALID_REQUEST'],
    ['approvals?limit=0', 400, 'INVALID_REQUEST'],
    ['approvals?cursor=zzz', 400, 'INVALID_CURSOR'],
    ['approvals?session=nope', 404, 'NOT_FOUND'],
    ['approvals?colour=red', 400, 'INVALID_REQUEST'],
    ['sessions/nope/approvals', 404, 'NOT_FOUND'],
    ['sessions/one/approvals?session=two', 400, 'INVALID_REQUEST'],
  ])('refuses %s', async (path, status, code) => {
    await AskedTurn.start(api, 'one');
    expect((await call(`${api.url}/v1/${path}`, 'GET')).body).toMatchObject({ status, code });
  });
});
