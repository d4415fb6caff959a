import { readdirSync } from 'node:fs';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionId } from '../../src/contract/ids.js';
import { keyText, newKeyToken, parseKeyToken } from '../../src/store/key-token.js';
import { makeKey } from './api-keys.js';
import { call, newSession, startApi, withMethods, type ApiServer } from './api-server.js';
import { AskedTurn } from './asked-turn.js';
import { StreamReader } from './stream-reader.js';

let api: ApiServer;
afterEach(() => api.stop());

describe('a server without keys', () => {
  it('takes everybody as local, whatever key they bring', async () => {
    api = await startApi();
    const headers = { authorization: `Bearer ${keyText(newKeyToken())}` };
    expect((await call(`${api.url}/v1/sessions`, 'POST', { id: 's' }, headers)).status).toBe(201);
    await call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text: 'go' });
    await call(`${api.url}/v1/sessions/s/cancel`, 'POST', {});
    const events = await api.store.readEvents(await api.uidOf('s'), { limit: 10 });
    expect(events.find(({ type }) => type === 'turn/cancel-requested')?.data).toMatchObject({ by: 'local' });
  });

  it('takes nobody where keys are required', async () => {
    api = await startApi({ settings: { keys: 'required' } });
    expect((await call(`${api.url}/v1/sessions`, 'GET')).body).toMatchObject({ code: 'UNAUTHENTICATED' });
    const key = await makeKey(api);
    expect((await key.call('GET', '/v1/sessions')).status).toBe(200);
  });
});

describe('a server with keys', () => {
  it('refuses who has none, from the first key on, and says how to come in', async () => {
    api = await startApi();
    await newSession(api, { id: 's' });
    await makeKey(api);
    for (const [method, path] of [
      ['GET', '/v1/sessions'],
      ['GET', '/V1/SESSIONS'],
      ['GET', '/v1/sessions/s/events'],
      ['POST', '/v1/sessions'],
      ['GET', '/v1/models'],
      ['GET', '/v1/nothing'],
      ['GET', '/nothing'],
      ['OPTIONS', '/v1/sessions'],
    ] as const) {
      const answer = await call(api.url + path, method, method === 'POST' ? {} : undefined);
      expect(answer.body, `${method} ${path}`).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
  });

  it('needs none for what says how it is', async () => {
    api = await startApi();
    await makeKey(api);
    for (const path of ['/healthz', '/readyz', '/openapi.json']) {
      expect((await call(api.url + path, 'GET')).status).toBe(200);
    }
  });

  it('refuses any other key in the same words, and never repeats it', async () => {
    api = await startApi();
    const key = await makeKey(api);
    const { id, secret } = parseKeyToken(key.text)!;
    const answers: unknown[] = [];
    for (const text of [
      keyText(newKeyToken()),
      keyText({ id, secret: newKeyToken().secret }),
      keyText({ id: newKeyToken().id, secret }),
      `${key.text}x`,
      'something-else',
    ]) {
      const { body } = await call(`${api.url}/v1/sessions`, 'GET', undefined, {
        authorization: `Bearer ${text}`,
      });
      expect(JSON.stringify(body)).not.toContain(text);
      answers.push(body);
    }
    expect(new Set(answers.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]).toMatchObject({ code: 'UNAUTHENTICATED' });
    const basic = { authorization: `Basic ${key.text}` };
    expect((await call(`${api.url}/v1/sessions`, 'GET', undefined, basic)).status).toBe(401);
    const lower = { authorization: `bearer  ${key.text}` };
    expect((await call(`${api.url}/v1/sessions`, 'GET', undefined, lower)).status).toBe(200);
  });

  it('writes the name of the key as the author of all that it causes', async () => {
    api = await startApi();
    const asked = await AskedTurn.start(api, 's');
    const [approval] = await asked.askAll(1);
    const bea = await makeKey(api, { name: 'bea' });
    const decided = await bea.call('POST', `/v1/approvals/${approval!}`, { outcome: 'deny' });
    expect(decided.body).toMatchObject({ decision: { by: 'bea' } });
    await bea.call('POST', '/v1/sessions/s/prompts', { text: 'more' });
    await bea.call('PATCH', '/v1/sessions/s', { permission: 'read-only' });
    await bea.call('POST', '/v1/sessions/s/cancel', {});
    const events = await api.store.readEvents(asked.uid, { limit: 100 });
    const last = (type: string) => events.findLast((event) => event.type === type)?.data;
    expect(last('turn/cancel-requested')).toMatchObject({ by: 'bea' });
    expect(last('session/settings')).toMatchObject({ by: 'bea' });
    expect(last('agent/inbox/spliced')).toMatchObject({ inserted: [{ source: { by: 'bea' } }] });
  });

  it('asks for the right that a call needs', async () => {
    api = await startApi();
    const asked = await AskedTurn.start(api, 's');
    const [approval] = await asked.askAll(1);
    const reader = await makeKey(api, { rights: ['read'] });
    const writer = await makeKey(api, { rights: ['submit'] });
    const judge = await makeKey(api, { rights: ['approve'] });
    const owner = await makeKey(api, { rights: ['admin'] });
    const allow = ['POST', `/v1/approvals/${approval!}`, { outcome: 'allow' }] as const;
    for (const other of [reader, writer, owner]) {
      expect((await other.call(...allow)).body).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    }
    const prompt = ['POST', '/v1/sessions/s/prompts', { text: 'go' }] as const;
    for (const other of [reader, judge, owner]) expect((await other.call(...prompt)).status).toBe(403);
    for (const other of [writer, judge, owner]) {
      expect((await other.call('GET', '/v1/sessions/s')).status).toBe(403);
    }
    for (const other of [reader, writer, judge]) {
      expect((await other.call('DELETE', '/v1/sessions/s')).status).toBe(403);
    }
    expect((await judge.call(...allow)).status).toBe(200);
    expect((await writer.call(...prompt)).status).toBe(202);
    expect((await reader.call('GET', '/v1/sessions/s')).status).toBe(200);
    expect((await owner.call('DELETE', '/v1/sessions/s')).status).toBe(204);
  });
});

describe('a key that is revoked', () => {
  it('is refused at once, and leaves the server closed', async () => {
    api = await startApi();
    const key = await makeKey(api);
    expect((await key.call('GET', '/v1/sessions')).status).toBe(200);
    await api.store.keys.revoke(key.id);
    expect((await key.call('GET', '/v1/sessions')).body).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await call(`${api.url}/v1/sessions`, 'GET')).status).toBe(401);
  });

  it('loses its streams, and the other keys keep theirs', async () => {
    api = await startApi({ settings: { keyCheckIntervalMs: 20, pingIntervalMs: 20 } });
    await newSession(api, { id: 's' });
    const gone = await makeKey(api);
    const kept = await makeKey(api);
    const open = ({ headers }: typeof gone) =>
      StreamReader.open(`${api.url}/v1/sessions/s/events`, { ...headers });
    const [cut, stays] = [await open(gone), await open(kept)];
    await api.store.keys.revoke(gone.id);
    await cut.done();
    const pings = () => stays.messages.filter(({ event }) => event === 'ping').length;
    const before = pings();
    await stays.until(() => pings() > before + 2);
    stays.close();
  });
});

describe('a key', () => {
  it('may send so many requests a minute, and is told when to come again', async () => {
    let now = Date.UTC(2030, 0, 1);
    api = await startApi({ clock: () => now });
    const slow = await makeKey(api, { requestsPerMinute: 2 });
    const free = await makeKey(api);
    const ask = () => slow.call('GET', '/v1/sessions');
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
    const refused = await ask();
    expect(refused.body).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
    expect(refused.headers.get('retry-after')).toBe('30');
    expect((await free.call('GET', '/v1/sessions')).status).toBe(200);
    now += 30_000;
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
  });

  it('may send so many prompts a day; what was not accepted is not counted', async () => {
    let now = Date.UTC(2030, 0, 1, 18);
    api = await startApi({ clock: () => now });
    const key = await makeKey(api, { promptsPerDay: 2 });
    await key.call('POST', '/v1/sessions', { id: 's' });
    const prompt = (requestId: string, text = 'go') =>
      key.call('POST', '/v1/sessions/s/prompts', { requestId, text });
    expect((await prompt('a')).status).toBe(202);
    expect((await prompt('a')).body).toMatchObject({ duplicate: true });
    expect((await prompt('a', 'else')).status).toBe(422);
    expect((await key.call('POST', '/v1/sessions/s/prompts', { text: '' })).status).toBe(400);
    expect((await key.call('POST', '/v1/turns', { prompt: 'go' })).status).toBe(202);
    const before = await api.store.readState(await api.uidOf('s'));
    for (const refused of [await prompt('b'), await key.call('POST', '/v1/turns', { prompt: 'go' })]) {
      expect(refused.body).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
      expect(refused.headers.get('retry-after')).toBe(String(6 * 3600));
    }
    expect(await api.store.readState(await api.uidOf('s'))).toEqual(before);
    // A job that was refused has left no session of its own: there are `s` and the one of the job that was taken.
    const { body } = await key.call('GET', '/v1/sessions');
    expect((body as { items: unknown[] }).items).toHaveLength(2);
    expect((await prompt('a')).status).toBe(200);
    now = Date.UTC(2030, 0, 2);
    expect((await prompt('b')).status).toBe(202);
  });

  it('has a job refused alike however often it is sent at once, and nothing is left of it', async () => {
    api = await startApi();
    const key = await makeKey(api, { promptsPerDay: 1 });
    expect((await key.call('POST', '/v1/turns', { prompt: 'go' })).status).toBe(202);
    const folders = readdirSync(api.workspacesFolder);
    const job = { prompt: 'again', requestId: 'same' };
    const answers = await Promise.all(Array.from({ length: 50 }, () => key.call('POST', '/v1/turns', job)));
    expect([...new Set(answers.map(({ status }) => status))]).toEqual([429]);
    const { body } = await key.call('GET', '/v1/sessions');
    expect((body as { items: unknown[] }).items).toHaveLength(1);
    expect(readdirSync(api.workspacesFolder)).toEqual(folders);
  });

  it('never reaches a log line or an event', async () => {
    const lines: string[] = [];
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(chunk.toString('utf8'));
        done();
      },
    });
    api = await startApi({
      logger: pino({ level: 'trace' }, stream),
      wrapStore: (store) =>
        withMethods(store, { listSessions: () => Promise.reject(new Error('the store is broken')) }),
    });
    const key = await makeKey(api);
    expect((await key.call('GET', '/v1/sessions')).status).toBe(500);
    expect(lines.join('')).toContain('the store is broken');
    await key.call('POST', '/v1/sessions', { id: 's' });
    await key.call('POST', '/v1/sessions/s/prompts', { text: 'go' });
    const session = await api.store.findSession('default', 's' as SessionId);
    const events = await api.store.readEvents(session!.uid, { limit: 100 });
    const { secret } = parseKeyToken(key.text)!;
    expect(lines.join('') + JSON.stringify(events) + JSON.stringify(api.nudges)).not.toContain(secret);
  });

  it('is remembered as used', async () => {
    api = await startApi();
    const key = await makeKey(api);
    await key.call('GET', '/v1/sessions');
    await expect.poll(async () => (await api.store.keys.find(key.id))?.lastUsedAt).not.toBeNull();
  });
});
