import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { TenantItem } from '../../src/client/follow-tenant.js';
import { createClient } from '../../src/client/client.js';
import type { SessionId, SessionUid } from '../../src/contract/ids.js';
import { TENANT_STREAM_SCHEMAS } from '../../src/contract/tenant-stream.js';
import { StoreError, type SessionStore } from '../../src/store/session-store.js';
import { call, newSession, startApi, withMethods, type ApiServer } from './api-server.js';
import { AskedTurn } from './asked-turn.js';
import { StreamReader } from './stream-reader.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
const readers: { close(): void }[] = [];
let calls = { watches: 0, open: 0, reads: 0 };
let failing = false;

const counted = (counts: typeof calls) => (store: SessionStore) =>
  withMethods(store, {
    watch: (uid, listener) => {
      const unwatch = store.watch(uid, listener);
      if (uid !== null) return unwatch;
      counts.watches += 1;
      counts.open += 1;
      return () => {
        counts.open -= 1;
        unwatch();
      };
    },
    findSessionByUid: (uid) => {
      counts.reads += 1;
      return failing
        ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'gone'))
        : store.findSessionByUid(uid);
    },
  });

beforeEach(async () => {
  // Its own for each test: the one before may still be letting go.
  calls = { watches: 0, open: 0, reads: 0 };
  failing = false;
  api = await startApi({ wrapStore: counted(calls), settings: { pingIntervalMs: 20 } });
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await api.stop();
});

const follow = async (query = '') => {
  const reader = await StreamReader.open(`${api.url}/v1/events${query}`);
  readers.push(reader);
  await reader.until(({ messages }) => messages.length > 0);
  return reader;
};
/** All but the pings, with the SSE event as `type`. */
const changes = (reader: StreamReader): Record<string, unknown>[] =>
  reader.messages.flatMap(({ event, data }) =>
    event === 'ping' ? [] : [{ type: event, ...(data as Record<string, unknown>) }],
  );
const prompt = (id: string) => call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'secret words' });

describe('the stream of a tenant', () => {
  it('begins with a ping, and tells of a session as it comes, changes and goes', async () => {
    const reader = await follow();
    expect(reader.messages[0]).toMatchObject({ event: 'ping' });
    await newSession(api, { id: 's' });
    await reader.until(() => changes(reader).length === 1);
    await prompt('s');
    await reader.until(() => changes(reader).length === 2);
    await new TurnDriver(api.store, await api.uidOf('s')).wholeTurn('secret words');
    await reader.until(() => changes(reader).at(-1)?.['status'] === 'idle');
    await call(`${api.url}/v1/sessions/s`, 'DELETE');
    await reader.until(() => changes(reader).at(-1)?.['change'] === 'removed');
    expect(changes(reader)).toEqual([
      { type: 'session', id: 's', change: 'added', status: 'idle', turn: null },
      { type: 'session', id: 's', change: 'changed', status: 'running', turn: 1 },
      { type: 'session', id: 's', change: 'changed', status: 'idle', turn: null },
      { type: 'session', id: 's', change: 'removed', status: 'idle', turn: null },
    ]);
    // Frames and events that change nothing of what a list shows are not told, and no word of any content is.
    expect(JSON.stringify(reader.messages)).not.toContain('secret');
    expect(reader.messages.every(({ id }) => id === undefined)).toBe(true);
  });

  it('tells a new title or setting, also where the status stays', async () => {
    await newSession(api, { id: 's' });
    const reader = await follow();
    await call(`${api.url}/v1/sessions/s`, 'PATCH', { title: 'a' });
    await reader.until(() => changes(reader).length === 1);
    await call(`${api.url}/v1/sessions/s`, 'PATCH', { metadata: { a: 'b' } });
    await reader.until(() => changes(reader).length === 2);
    expect(changes(reader).every(({ change }) => change === 'changed')).toBe(true);
  });

  it('tells approvals and questions when they are opened and when they are closed', async () => {
    const turn = await AskedTurn.start(api, 's', 2);
    const reader = await follow('?types=approval,question');
    const approvalId = await turn.ask(0);
    const questionId = await turn.askQuestion(1, [{ id: 'q', question: 'Which?' }]);
    await call(`${api.url}/v1/approvals/${approvalId}`, 'POST', { outcome: 'allow' });
    await call(`${api.url}/v1/questions/${questionId}`, 'POST', { answers: [{ id: 'q', text: 'this' }] });
    await reader.until(() => changes(reader).length === 4);
    const place = { sessionId: 's', turn: 1, step: 1 };
    expect(changes(reader)).toEqual([
      { type: 'approval', approvalId, ...place, status: 'open' },
      { type: 'question', questionId, ...place, status: 'open' },
      { type: 'approval', approvalId, ...place, status: 'closed' },
      { type: 'question', questionId, ...place, status: 'closed' },
    ]);
  });

  it('has the shapes of the contract', async () => {
    const reader = await follow();
    const turn = await AskedTurn.start(api, 's', 2);
    await turn.ask(0);
    await turn.askQuestion(1, [{ id: 'q', question: 'Which?' }]);
    await reader.until(() => changes(reader).at(-1)?.type === 'question');
    for (const { event, data } of reader.messages) {
      if (event === 'ping') continue;
      expect(TENANT_STREAM_SCHEMAS[event as keyof typeof TENANT_STREAM_SCHEMAS].parse(data)).toEqual(data);
    }
  });

  it('never tells of another tenant, of its sessions, asks or deletions', async () => {
    const reader = await follow();
    const uid = uuidv7() as SessionUid;
    await api.store.createSession({
      tenant: 'other',
      id: 'theirs' as SessionId,
      uid,
      settings: { workspace: '/workspace', profile: 'default' },
      bodySha256: 'body',
    });
    await api.store.transact(uid, (transaction) =>
      transaction.append([{ type: 'session/title', data: { title: 'x', source: 'user' } }]),
    );
    await api.store.deleteSession(uid);
    await newSession(api, { id: 'ours' });
    await reader.until(() => changes(reader).length > 0);
    expect(changes(reader)).toMatchObject([{ id: 'ours', change: 'added' }]);
  });

  it('has the same watch and the same reads for all readers, and none without a reader', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => follow()));
    const { reads } = calls;
    await newSession(api, { id: 's' });
    await Promise.all(all.map((reader) => reader.until(() => changes(reader).length === 1)));
    expect(calls).toEqual({ watches: 1, open: 1, reads: reads + 1 });
    for (const reader of readers.splice(0)) reader.close();
    while (calls.open > 0) await new Promise((resolve) => setImmediate(resolve));
    await newSession(api, { id: 't' });
    expect(calls.reads).toBe(reads + 1);
  });

  it('tells how a session stands in the end, however many commits came at once', async () => {
    await newSession(api, { id: 's' });
    const uid = await api.uidOf('s');
    const reader = await follow();
    for (let n = 0; n < 3; n += 1) {
      await prompt('s');
      await new TurnDriver(api.store, uid).wholeTurn('x');
    }
    await prompt('s');
    await reader.until(() => {
      const last = changes(reader).at(-1);
      return last?.['status'] === 'running' && last['turn'] === 4;
    });
  });

  it('pings while nothing changes', async () => {
    const reader = await follow();
    await reader.until(({ messages }) => messages.length === 4);
    expect(changes(reader)).toEqual([]);
  });

  it('is cut where the store fails, and goes on for those who come back', async () => {
    await newSession(api, { id: 's' });
    const reader = await follow();
    failing = true;
    await call(`${api.url}/v1/sessions/s`, 'PATCH', { title: 'a' });
    await reader.done();
    failing = false;
    const back = await follow();
    await call(`${api.url}/v1/sessions/s`, 'PATCH', { title: 'b' });
    await back.until(() => changes(back).length === 1);
  });

  it.each([
    ['?types=session,event', 'types'],
    ['?types=', 'types'],
    ['?after=1', 'after'],
  ])('is refused with %s', async (query, field) => {
    const refused = await StreamReader.tryOpen(`${api.url}/v1/events${query}`);
    expect(refused).toMatchObject({ status: 400, problem: { code: 'INVALID_REQUEST', field } });
  });

  it('is for those who ask for a stream, and answers HEAD with its headers alone', async () => {
    const plain = await call(`${api.url}/v1/events`, 'GET');
    expect(plain).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST', field: 'Accept' } });
    const head = await fetch(`${api.url}/v1/events`, {
      method: 'HEAD',
      headers: { accept: 'text/event-stream' },
    });
    expect(head.headers.get('content-type')).toBe('text/event-stream');
  });
});

describe('the client of a tenant', () => {
  it('says when to list, at first and after each break, and loses nothing that a list does not show', async () => {
    const client = createClient({ baseUrl: api.url });
    const timing = { silenceMs: 1000, firstBackoffMs: 1, maxBackoffMs: 2 };
    const abort = new AbortController();
    const shown = new Map<string, string>();
    const seen: TenantItem['type'][] = [];
    let breaks = 0;
    const following = (async () => {
      for await (const item of client.followTenant({ types: ['session'], timing, signal: abort.signal })) {
        seen.push(item.type);
        if (item.type === 'start') {
          shown.clear();
          for (const { id, status } of (await client.listSessions()).items) shown.set(id, status);
        }
        if (item.type !== 'session') continue;
        const { id, change, status } = item.session;
        if (change === 'removed') shown.delete(id);
        else shown.set(id, status);
        // The store fails while it is read for this reader alone: its connection is cut.
        if (breaks < 3) {
          breaks += 1;
          failing = true;
          await call(`${api.url}/v1/sessions/${id}`, 'PATCH', { title: String(breaks) });
          failing = false;
        }
        if (id === 'last') abort.abort();
      }
    })();
    const ended = expect(following).rejects.toThrow();
    while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let n = 0; n < 20; n += 1) {
      await newSession(api, { id: `s${String(n)}` });
      if (n % 3 === 0) await prompt(`s${String(n)}`);
      if (n % 5 === 0) await call(`${api.url}/v1/sessions/s${String(n)}`, 'DELETE');
    }
    while (seen.filter((type) => type === 'start').length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await newSession(api, { id: 'last' });
    await ended;
    const listed = (await client.listSessions()).items.map(({ id, status }) => [id, status] as const);
    expect(shown).toEqual(new Map(listed));
  });
});
