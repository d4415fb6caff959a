/** One session of many whose log is damaged while a server runs: it is refused clearly, and no other one is. */
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { call, newSession, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
  for (const id of ['damaged', 'fine']) {
    await newSession(api, { id });
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { requestId: 'r1', text: 'hello' });
  }
  const uid = await api.uidOf('damaged');
  const database = new Database(api.databasePath);
  // Another letter in the event, and a turn that is not committed yet to those who remember how the log was.
  database.prepare(`update events set data = replace(data, 'hello', 'hullo') where session_uid = ?`).run(uid);
  database.prepare('update sessions set head_seq = head_seq + 1 where uid = ?').run(uid);
  database.close();
});
afterEach(() => api.stop());

it('is refused with what the operator can do, and the others and the lists go on', async () => {
  const refused = {
    status: 500,
    code: 'INTERNAL',
    detail: expect.stringContaining('turnkeeper doctor --repair') as string,
  };
  const of = (id: string, path: string) => `${api.url}/v1/sessions/${id}${path}`;
  expect((await call(of('damaged', '/events'), 'GET')).body).toMatchObject(refused);
  expect((await call(of('damaged', ''), 'GET')).body).toMatchObject(refused);
  expect((await call(of('damaged', '/prompts'), 'POST', { text: 'more' })).body).toMatchObject(refused);
  expect((await call(of('damaged', '/cancel'), 'POST', {})).body).toMatchObject(refused);
  expect((await call(of('fine', '/events'), 'GET')).status).toBe(200);
  expect((await call(of('fine', ''), 'GET')).status).toBe(200);
  expect((await call(of('fine', '/prompts'), 'POST', { text: 'more' })).status).toBe(202);
  for (const list of ['sessions', 'turns']) {
    const { body } = await call(`${api.url}/v1/${list}`, 'GET');
    expect((body as { items: { id?: string; sessionId?: string }[] }).items).toMatchObject([
      list === 'sessions' ? { id: 'fine' } : { sessionId: 'fine' },
    ]);
  }
});

it('can be deleted', async () => {
  expect((await call(`${api.url}/v1/sessions/damaged`, 'DELETE')).status).toBe(204);
  expect((await call(`${api.url}/v1/sessions/damaged`, 'GET')).status).toBe(404);
  expect((await call(`${api.url}/v1/sessions/fine`, 'GET')).status).toBe(200);
});
