/** `GET /v1/turns` and the filters of both lists of turns, over HTTP. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.js';
import { turnResourceSchema, type Page, type Problem, type TurnResource } from '../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

const get = async (path: string) => {
  const { status, body } = await call(`${api.url}${path}`, 'GET');
  return { status, page: body as Page<TurnResource>, problem: body as Problem };
};
const job = async (body: Record<string, unknown> = {}) => {
  const answer = await call(`${api.url}/v1/turns`, 'POST', { prompt: 'go', ...body });
  return answer.body as TurnResource;
};
const end = async ({ sessionId }: TurnResource, text = 'done') =>
  new TurnDriver(api.store, await api.uidOf(sessionId)).wholeTurn(text);
const sessionsOf = ({ items }: Page<TurnResource>) => items.map(({ sessionId }) => sessionId);

describe('GET /v1/turns', () => {
  it('has the turns of all sessions, newest first, each as it is now', async () => {
    const first = await job();
    const second = await job();
    await end(first, 'x'.repeat(100_000));
    const { status, page } = await get('/v1/turns');
    expect(status).toBe(200);
    expect(new Set(sessionsOf(page))).toEqual(new Set([second.sessionId, first.sessionId]));
    for (const turn of page.items) turnResourceSchema.parse(turn);
    expect(page.items.find(({ sessionId }) => sessionId === first.sessionId)).toMatchObject({
      status: 'ended',
      output: 'x'.repeat(100_000),
    });
    expect(page.items.find(({ sessionId }) => sessionId === second.sessionId)?.status).toBe('running');
    expect(page.nextCursor).toBeNull();
  });

  it('is paged with each turn once, while turns are added', async () => {
    const jobs = [];
    for (let n = 0; n < 5; n++) jobs.push((await job()).sessionId);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { page } = await get(`/v1/turns?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...sessionsOf(page));
      cursor = page.nextCursor;
      await job();
    }
    expect(seen.toSorted()).toEqual(jobs.toSorted());
  });

  it('is filtered by status, profile, metadata and time, all together', async () => {
    const docs = await job({ metadata: { team: 'docs', 'run.id': '' } });
    const careful = await job({ profile: 'careful', metadata: { team: 'docs' } });
    const web = await job({ metadata: { team: 'web' } });
    await end(docs);
    const of = async (query: string) => sessionsOf((await get(`/v1/turns?${query}`)).page).toSorted();
    const ids = (...turns: TurnResource[]) => turns.map(({ sessionId }) => sessionId).toSorted();
    expect(await of('metadata.team=docs')).toEqual(ids(docs, careful));
    expect(await of('metadata.run.id=')).toEqual(ids(docs));
    expect(await of('metadata.team=docs&status=running')).toEqual(ids(careful));
    expect(await of('profile=careful')).toEqual(ids(careful));
    expect(await of('status=ended')).toEqual(ids(docs));
    expect(await of('until=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await of(`since=${encodeURIComponent('2020-01-01T02:00:00+02:00')}`)).toEqual(
      ids(docs, careful, web),
    );
    expect(await of(`since=${web.startedAt}&metadata.team=web`)).toEqual(ids(web));
  });

  it.each([
    ['cursor=1', 'INVALID_CURSOR', 'cursor'],
    [`cursor=${Buffer.from('["x","y",0]').toString('base64url')}`, 'INVALID_CURSOR', 'cursor'],
    ['status=idle', 'INVALID_REQUEST', 'status'],
    ['since=yesterday', 'INVALID_REQUEST', 'since'],
    ['since=2026-01-01', 'INVALID_REQUEST', 'since'],
    ['limit=0', 'INVALID_REQUEST', 'limit'],
    ['metadata.=x', 'INVALID_REQUEST', 'metadata.'],
    ['metadata.a=x&metadata.a=y', 'INVALID_REQUEST', 'metadata.a'],
    ['team=docs', 'INVALID_REQUEST', 'team'],
  ])('refuses %s', async (query, code, field) => {
    const { status, problem } = await get(`/v1/turns?${query}`);
    expect([status, problem.code, problem.field]).toEqual([400, code, field]);
  });

  it('is asked for by the client with the same filters', async () => {
    const { sessionId } = await job({ metadata: { team: 'docs & more' } });
    await job();
    const client = createClient({ baseUrl: api.url });
    const list = { metadata: { team: 'docs & more' }, status: 'running', limit: 10 } as const;
    expect(sessionsOf(await client.allTurns(list))).toEqual([sessionId]);
    expect((await client.turns(sessionId, { ...list, profile: 'careful' })).items).toEqual([]);
  });

  it('leaves out what was deleted', async () => {
    const gone = await job();
    const kept = await job();
    await call(`${api.url}/v1/sessions/${gone.sessionId}`, 'DELETE');
    expect(sessionsOf((await get('/v1/turns')).page)).toEqual([kept.sessionId]);
  });
});

describe('the turns of a session', () => {
  it('take the same filters, with their own cursor', async () => {
    const { id } = await newSession(api, { metadata: { team: 'docs' } });
    const driver = new TurnDriver(api.store, await api.uidOf(id));
    for (let n = 0; n < 3; n++) {
      await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'go' });
      if (n < 2) await driver.wholeTurn('done');
    }
    const turns = async (query: string) => {
      const { page } = await get(`/v1/sessions/${id}/turns?${query}`);
      return { turns: page.items.map(({ turn }) => turn), nextCursor: page.nextCursor };
    };
    expect((await turns('')).turns).toEqual([3, 2, 1]);
    expect((await turns('status=ended&metadata.team=docs')).turns).toEqual([2, 1]);
    expect(await turns('status=ended&limit=1')).toEqual({ turns: [2], nextCursor: '2' });
    expect((await turns('status=ended&limit=1&cursor=2')).turns).toEqual([1]);
    expect((await turns('metadata.team=web')).turns).toEqual([]);
  });
});
