import { existsSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClient } from '../../src/client/client.js';
import { importedSessionSchema, type SessionResource } from '../../src/contract/http.js';
import type { SessionEvent } from '../../src/contract/events.js';
import { AskedTurn } from './asked-turn.js';
import { makeKey, type TestKey } from './api-keys.js';
import { call, newSession, startApi, type Answer, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

const TYPE = { 'content-type': 'application/x-ndjson' };

async function exported(id: string): Promise<string> {
  const response = await fetch(`${api.url}/v1/sessions/${id}/export`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  return response.text();
}

const imported = (file: string, query = '') =>
  call(`${api.url}/v1/sessions/import${query}`, 'POST', file, TYPE);

const sent = (id: string, text: string, requestId: string) =>
  call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text, requestId });

const eventsOf = async (id: string) =>
  (await call(`${api.url}/v1/sessions/${id}/events?limit=1000`, 'GET')).body as { items: SessionEvent[] };

/** A session with an ended turn. */
async function answered(id: string): Promise<SessionResource> {
  const session = await newSession(api, { id, title: 'Märchen', metadata: { team: 'blue' } });
  await sent(id, 'Hello', 'r1');
  const driver = new TurnDriver(api.store, await api.uidOf(id));
  await driver.enter();
  await driver.attempt();
  await driver.message('Answer.');
  await driver.end();
  return session;
}

function problem(answer: Answer) {
  return answer.body as { code: string; detail: string; field?: string };
}

describe('an exported session', () => {
  it('is imported under another id with all that it was, in a fresh folder of its own', async () => {
    const original = await answered('original');
    const file = await exported('original');
    const answer = await imported(file, '?id=copy');
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe('/v1/sessions/copy');
    const copy = importedSessionSchema.parse(answer.body);
    expect(copy).toMatchObject({ id: 'copy', title: 'Märchen', metadata: { team: 'blue' }, status: 'idle' });
    expect(copy).not.toHaveProperty('repaired');
    expect(copy.createdAt).toBe(original.createdAt);
    expect(copy.workspace).toBe(join(api.workspacesFolder, await api.uidOf('copy')));
    expect(existsSync(copy.workspace)).toBe(true);
    const facts = ({ items }: { items: SessionEvent[] }) =>
      JSON.stringify(items.slice(1).map((event) => ({ ...event, sessionId: '' })));
    expect(facts(await eventsOf('copy'))).toBe(facts(await eventsOf('original')));
    // Nothing waits in it, so nothing is started.
    expect(api.nudges).toHaveLength(1);
  });

  it('can come back under its own id once it is deleted, and not before', async () => {
    await answered('mine');
    const file = await exported('mine');
    const taken = await imported(file);
    expect(taken.status).toBe(409);
    expect(problem(taken)).toMatchObject({ code: 'SESSION_CONFLICT', field: 'id' });
    await call(`${api.url}/v1/sessions/mine`, 'DELETE');
    expect((await imported(file)).status).toBe(201);
    expect((await eventsOf('mine')).items.length).toBeGreaterThan(5);
  });

  it('answers a prompt that is sent again as before, and refuses its id for another body', async () => {
    await answered('s');
    const first = await sent('s', 'Hello', 'r1');
    await imported(await exported('s'), '?id=copy');
    const again = await sent('copy', 'Hello', 'r1');
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ ...(first.body as object), sessionId: 'copy' });
    expect((await sent('copy', 'Other', 'r1')).status).toBe(422);
  });

  it('takes a workspace that is allowed, and no other', async () => {
    await answered('s');
    const file = await exported('s');
    const chosen = await imported(file, `?id=a&workspace=${encodeURIComponent(api.workspace)}`);
    expect(chosen.body).toMatchObject({ workspace: api.workspace });
    const system = await imported(file, '?id=b&workspace=/etc');
    expect(problem(system).code).toBe('WORKSPACE_NOT_ALLOWED');
  });

  it('has its open turn closed, its approvals withdrawn under their ids, and goes on with what waits', async () => {
    const asked = await AskedTurn.start(api, 'open');
    const approvalId = await asked.ask(0);
    await sent('open', 'Next', 'r2');
    const answer = await imported(await exported('open'), '?id=copy');
    const copy = importedSessionSchema.parse(answer.body);
    expect(copy.repaired?.what).toContain('while the turn was open');
    expect(copy).toMatchObject({ turn: 2, status: 'running', approvals: 0 });
    const uid = await api.uidOf('copy');
    expect(api.nudges).toContainEqual({ kind: 'start', uid, turn: 2 });
    const { items } = await eventsOf('copy');
    expect(items.at(-1)).toMatchObject({ type: 'session/repaired', data: copy.repaired });
    expect(items.find(({ type }) => type === 'approval/decided')).toMatchObject({
      data: { approvalId, outcome: 'withdrawn' },
    });
    const turn = await call(`${api.url}/v1/sessions/copy/turns/1`, 'GET');
    expect(turn.body).toMatchObject({ status: 'ended', reason: { kind: 'interrupted' } });
    // The original still waits, and is the one that its id means.
    expect((await call(`${api.url}/v1/approvals/${approvalId}`, 'GET')).body).toMatchObject({
      sessionId: 'open',
    });
  });
});

describe('an import that cannot be', () => {
  it('is refused with the line and the reason, and opened with repair=true', async () => {
    await answered('s');
    const file = await exported('s');
    const cut = file.slice(0, file.length - 300);
    const refused = await imported(cut, '?id=copy');
    expect(refused.status).toBe(422);
    expect(problem(refused)).toMatchObject({ code: 'FILE_DAMAGED' });
    expect(problem(refused).detail).toMatch(/^Line \d+ ends in the middle/);
    expect((await call(`${api.url}/v1/sessions/copy`, 'GET')).status).toBe(404);
    const opened = await imported(cut, '?id=copy&repair=true');
    expect(opened.status).toBe(201);
    const { repaired } = importedSessionSchema.parse(opened.body);
    expect(repaired?.lost).toBeGreaterThan(0);
    expect((await sent('copy', 'Go on', 'r9')).status).toBe(202);
  });

  it.each([
    [
      'a log that was exported without blobs',
      async () => JSON.stringify((await eventsOf('s')).items[0]) + '\n',
    ],
    ['nothing', () => Promise.resolve('\n')],
  ])('is told what is missing where it is %s', async (_what, file) => {
    await answered('s');
    const answer = await imported(await file(), '?repair=true');
    expect([answer.status, problem(answer).code]).toEqual([422, 'FILE_DAMAGED']);
    expect(problem(answer).detail).toContain('--with-blobs');
  });

  it('is refused for its type, for unknown parameters, and while the server shuts down', async () => {
    const post = (headers: Record<string, string>, query = '') =>
      call(`${api.url}/v1/sessions/import${query}`, 'POST', 'x\n', headers);
    expect((await post({ 'content-type': 'application/json' })).status).toBe(415);
    expect((await post({ ...TYPE, 'content-encoding': 'gzip' })).status).toBe(415);
    expect(problem(await post(TYPE, '?id=..')).field).toBe('id');
    expect((await post(TYPE, '?repair=maybe')).status).toBe(400);
    expect((await post(TYPE, '?color=red')).status).toBe(400);
    api.condition.isDraining = true;
    expect(problem(await post(TYPE)).code).toBe('DRAINING');
  });

  it('answers a caller who is still sending, and serves the next call of the connection', async () => {
    await answered('s');
    const [header] = (await exported('s')).split('\n');
    const large = `${header ?? ''}\n${`${'x'.repeat(1000)}\n`.repeat(20_000)}`;
    const client = createClient({ baseUrl: api.url });
    for (let n = 0; n < 3; n++) {
      await expect(client.importSession(new Blob([large]), { id: 'copy' })).rejects.toMatchObject({
        code: 'FILE_DAMAGED',
      });
    }
    expect((await client.session('s')).id).toBe('s');
  });

  it('is not taken for a cut file where the caller goes away in the middle', async () => {
    let abandoned = 0;
    const { archive } = api.store;
    const watched = vi.spyOn(archive, 'beginImport').mockImplementation(async (session) => {
      watched.mockRestore();
      const work = await archive.beginImport(session);
      return Object.assign(Object.create(work) as typeof work, {
        abandon: () => work.abandon().finally(() => (abandoned += 1)),
      });
    });
    await answered('s');
    const file = await exported('s');
    const half = file.slice(0, file.indexOf('\n', file.length / 2) + 1);
    await new Promise<void>((resolve) => {
      const url = `${api.url}/v1/sessions/import?id=copy&repair=true`;
      const request = httpRequest(url, {
        method: 'POST',
        headers: { ...TYPE, 'content-length': file.length },
      });
      request.on('error', () => {
        resolve();
      });
      request.write(half, () => request.destroy());
    });
    await expect.poll(() => abandoned).toBe(1);
    expect((await call(`${api.url}/v1/sessions/copy`, 'GET')).status).toBe(404);
    expect((await imported(file, '?id=copy')).status).toBe(201);
  });
});

describe('an export', () => {
  it('of a session that is not there is 404, and one that nobody takes ends', async () => {
    expect((await call(`${api.url}/v1/sessions/none/export`, 'GET')).status).toBe(404);
    await answered('s');
    const head = await fetch(`${api.url}/v1/sessions/s/export`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const uid = await api.uidOf('s');
    for (let n = 0; n < 20; n++) await api.store.saveBlob(uid, Buffer.alloc(1024 * 1024, n), 'image/png');
    const reading = await fetch(`${api.url}/v1/sessions/s/export`);
    const reader = reading.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect((await call(`${api.url}/v1/sessions/s`, 'GET')).status).toBe(200);
  });

  it('breaks off where the session is deleted meanwhile, and is then no whole file', async () => {
    await answered('s');
    const uid = await api.uidOf('s');
    for (let n = 0; n < 30; n++) await api.store.saveBlob(uid, Buffer.alloc(1024 * 1024, n), 'image/png');
    const response = await fetch(`${api.url}/v1/sessions/s/export`);
    const reader = response.body!.getReader();
    await reader.read();
    await call(`${api.url}/v1/sessions/s`, 'DELETE');
    const drain = async () => {
      while (!(await reader.read()).done) continue;
    };
    await expect(drain()).rejects.toThrow();
  });
});

describe('deleting what has not changed', () => {
  it('is done where nothing was done since, and refused where something was or a turn is open', async () => {
    const { updatedAt } = await newSession(api, { id: 's' });
    const remove = (since: string) =>
      call(`${api.url}/v1/sessions/s?unchangedSince=${encodeURIComponent(since)}`, 'DELETE');
    const before = await remove(new Date(Date.parse(updatedAt) - 1).toISOString());
    expect([before.status, problem(before).code]).toEqual([409, 'SESSION_CHANGED']);
    await sent('s', 'go', 'r1');
    expect((await remove('2099-01-01T00:00:00+02:00')).status).toBe(409);
    expect(api.nudges.some(({ kind }) => kind === 'cancel')).toBe(false);
    const driver = new TurnDriver(api.store, await api.uidOf('s'));
    await driver.enter();
    await driver.end();
    expect((await remove('yesterday')).status).toBe(400);
    expect((await remove('2099-01-01T00:00:00+02:00')).status).toBe(204);
    expect((await call(`${api.url}/v1/sessions/s`, 'GET')).status).toBe(404);
  });
});

describe('with keys', () => {
  it('an import needs the right of operators, and no session comes in that is wider than the key', async () => {
    await newSession(api, { id: 's', permission: 'full-access' });
    const file = await exported('s');
    const operator = await makeKey(api, { rights: ['admin'], permission: 'full-access' });
    const narrow = await makeKey(api, { rights: ['admin'], permission: 'read-only' });
    const user = await makeKey(api, { rights: ['submit', 'read', 'approve'], permission: 'full-access' });
    const sentBy = (key: TestKey, path = 'import') =>
      call(`${api.url}/v1/sessions/${path}?id=copy`, 'POST', file, { ...TYPE, ...key.headers });
    expect(problem(await sentBy(user)).code).toBe('FORBIDDEN');
    expect(problem(await sentBy(user, 'Import/')).code).toBe('FORBIDDEN');
    expect(problem(await sentBy(narrow)).code).toBe('PERMISSION_NOT_ALLOWED');
    expect((await sentBy(operator)).status).toBe(201);
    expect((await user.call('GET', '/v1/sessions/copy')).status).toBe(200);
    expect(problem(await operator.call('GET', '/v1/sessions/s/export')).code).toBe('FORBIDDEN');
    const stranger = await makeKey(api, { tenant: 'other' });
    expect((await stranger.call('GET', '/v1/sessions/s/export')).status).toBe(404);
  });
});
