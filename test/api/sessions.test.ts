import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Page, SessionResource } from '../../src/contract/http.js';
import { sessionResourceSchema } from '../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

describe('creating a session', () => {
  it('answers 201 with the whole session, its profile deciding what was left open', async () => {
    const answer = await call(`${api.url}/v1/sessions`, 'POST', {
      id: 'mine',
      title: 'A title',
      workspace: api.workspace,
      limits: { steps: 5 },
      metadata: { team: 'blue' },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe('/v1/sessions/mine');
    expect(sessionResourceSchema.parse(answer.body)).toEqual({
      id: 'mine',
      title: 'A title',
      status: 'idle',
      turn: null,
      createdAt: expect.any(String) as string,
      updatedAt: expect.any(String) as string,
      workspace: realpathSync(api.workspace),
      profile: 'default',
      provider: 'demo',
      model: 'demo',
      permission: 'workspace-write',
      limits: { steps: 5, wallTimeMs: 3_600_000, tokens: null, costUsd: null },
      queue: [],
      approvals: 0,
      usage: expect.objectContaining({ inputTokens: 0 }) as object,
      headSeq: 1,
      metadata: { team: 'blue' },
    });
  });

  it('makes an id and a fresh workspace where none is given', async () => {
    const session = await newSession(api);
    expect(session.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(session.workspace).toBe(join(api.workspacesFolder, await api.uidOf(session.id)));
    expect(existsSync(session.workspace)).toBe(true);
  });

  it('answers the same id and body again with 200, and another body with 409', async () => {
    const body = { id: 'twice', profile: 'careful', metadata: { a: '1', b: '2' } };
    const first = await call(`${api.url}/v1/sessions`, 'POST', body);
    const again = await call(`${api.url}/v1/sessions`, 'POST', {
      metadata: { b: '2', a: '1' },
      profile: 'careful',
      id: 'twice',
    });
    const other = await call(`${api.url}/v1/sessions`, 'POST', { ...body, title: 'x' });
    expect(first.status).toBe(201);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(other.status).toBe(409);
    expect(other.body).toMatchObject({ code: 'SESSION_CONFLICT', status: 409, field: 'id' });
  });

  it.each([
    ['profile', { profile: 'nope' }],
    ['provider', { provider: 'nope' }],
    ['model', { model: 'nope' }],
    ['model', { provider: 'other', model: 'demo' }],
  ])('refuses a %s that does not exist', async (field, body) => {
    const answer = await call(`${api.url}/v1/sessions`, 'POST', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field });
  });

  it('takes a model of another provider', async () => {
    const session = await newSession(api, { provider: 'other', model: 'small' });
    expect(session).toMatchObject({ provider: 'other', model: 'small' });
  });
});

describe('listing sessions', () => {
  it('goes through all of them, newest first, page by page', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await newSession(api, { id: `s${String(n)}` })).id);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await call(`${api.url}/v1/sessions?limit=2${query}`, 'GET');
      const page = body as Page<SessionResource>;
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(ids.reverse());
  });

  it('leaves out the sessions in another state', async () => {
    await newSession(api, { id: 'idle' });
    await newSession(api, { id: 'busy' });
    await call(`${api.url}/v1/sessions/busy/prompts`, 'POST', { text: 'go' });
    const running = (await call(`${api.url}/v1/sessions?status=running`, 'GET'))
      .body as Page<SessionResource>;
    expect(running.items.map(({ id }) => id)).toEqual(['busy']);
    expect(running.nextCursor).toBeNull();
  });

  it.each(['limit=0', 'limit=1001', 'limit=x', 'limit=2&limit=3', 'status=asleep', 'colour=red'])(
    'refuses ?%s',
    async (query) => {
      const answer = await call(`${api.url}/v1/sessions?${query}`, 'GET');
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field: query.split('=')[0] });
    },
  );

  it('refuses a cursor that it has not given', async () => {
    const answer = await call(`${api.url}/v1/sessions?cursor=abc`, 'GET');
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: 'INVALID_CURSOR', field: 'cursor' });
  });
});

describe('showing a session', () => {
  it('shows what waits, each with its place in its own list', async () => {
    const { id } = await newSession(api);
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'first' });
    await new TurnDriver(api.store, await api.uidOf(id)).enter();
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'second', requestId: 'r2' });
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'third' });
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'now', mode: 'steer' });
    const { body } = await call(`${api.url}/v1/sessions/${id}`, 'GET');
    const session = sessionResourceSchema.parse(body);
    expect(session).toMatchObject({ status: 'running', turn: 1 });
    expect(session.queue.map(({ target, position, content }) => ({ target, position, content }))).toEqual([
      { target: 'next-step', position: 0, content: [{ type: 'text', text: 'now' }] },
      { target: 'next-turn', position: 0, content: [{ type: 'text', text: 'second' }] },
      { target: 'next-turn', position: 1, content: [{ type: 'text', text: 'third' }] },
    ]);
    expect(session.queue[1]?.requestId).toBe('r2');
  });

  it.each(['nope', '..%2Fx', 'a%20b'])('answers 404 for the id %s', async (id) => {
    const answer = await call(`${api.url}/v1/sessions/${id}`, 'GET');
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('changing a session', () => {
  it('renames it and changes settings, and leaves alone what was not named', async () => {
    const { id } = await newSession(api, { profile: 'careful', metadata: { a: '1' } });
    const answer = await call(`${api.url}/v1/sessions/${id}`, 'PATCH', {
      title: 'New',
      permission: 'full-access',
      limits: { steps: 3 },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      title: 'New',
      profile: 'careful',
      permission: 'full-access',
      limits: { steps: 3, tokens: null },
      metadata: { a: '1' },
    });
  });

  it('refuses what does not exist and what cannot change', async () => {
    const { id } = await newSession(api);
    const model = await call(`${api.url}/v1/sessions/${id}`, 'PATCH', { model: 'nope' });
    expect(model.body).toMatchObject({ status: 400, field: 'model' });
    const workspace = await call(`${api.url}/v1/sessions/${id}`, 'PATCH', { workspace: api.workspace });
    expect(workspace.body).toMatchObject({ status: 400, field: 'workspace' });
  });
});

describe('deleting a session', () => {
  it('takes its data and its fresh workspace, cancels what runs, and lets the id be given again', async () => {
    const { id, workspace } = await newSession(api, { id: 'gone' });
    const uid = await api.uidOf(id);
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'go' });
    const answer = await call(`${api.url}/v1/sessions/${id}`, 'DELETE');
    expect(answer.status).toBe(204);
    expect(api.nudges).toContainEqual({ kind: 'cancel', uid, turn: 1 });
    expect(existsSync(workspace)).toBe(false);
    expect((await call(`${api.url}/v1/sessions/${id}`, 'GET')).status).toBe(404);
    expect((await call(`${api.url}/v1/sessions/${id}`, 'DELETE')).status).toBe(404);
    const again = await newSession(api, { id: 'gone' });
    expect(again.headSeq).toBe(0);
    expect(await api.uidOf('gone')).not.toBe(uid);
  });

  it('leaves a workspace that was given where it is', async () => {
    const { id } = await newSession(api, { workspace: api.workspace });
    await call(`${api.url}/v1/sessions/${id}`, 'DELETE');
    expect(existsSync(api.workspace)).toBe(true);
  });
});
