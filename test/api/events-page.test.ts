import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import type { Page } from '../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
let base: string;
let head: number;
beforeAll(async () => {
  api = await startApi();
  await newSession(api, { id: 's' });
  base = `${api.url}/v1/sessions/s/events`;
  const driver = new TurnDriver(api.store, await api.uidOf('s'));
  for (const text of ['one', 'two']) {
    await call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text });
    await driver.wholeTurn(text);
  }
  head = (await api.store.readState(await api.uidOf('s'))).headSeq;
});
afterAll(() => api.stop());

const page = async (query = '') => (await call(`${base}${query}`, 'GET')).body as Page<SessionEvent, number>;
const seqs = ({ items }: Page<SessionEvent, number>) => items.map(({ seq }) => seq);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe('a page of the log', () => {
  it('has everything from the start, in order, and no next one', async () => {
    const all = await page();
    expect(seqs(all)).toEqual(range(0, head));
    expect(all.nextCursor).toBeNull();
    expect(all.items[0]).toMatchObject({ sessionId: 's', type: 'session/created' });
    expect(seqs(await page('?after=-1'))).toEqual(range(0, head));
  });

  it('goes on after its next cursor until the end', async () => {
    const seen: number[] = [];
    let after = -1;
    for (;;) {
      const some = await page(`?after=${String(after)}&limit=4`);
      seen.push(...seqs(some));
      if (some.nextCursor === null) break;
      expect(some.nextCursor).toBe(some.items.at(-1)!.seq);
      after = some.nextCursor;
    }
    expect(seen).toEqual(range(0, head));
  });

  it('has the last ones before a seq, ascending, and the cursor that goes on', async () => {
    const some = await page('?before=6&limit=3');
    expect(seqs(some)).toEqual([3, 4, 5]);
    expect(some.nextCursor).toBe(5);
    expect(await page('?before=0')).toEqual({ items: [], nextCursor: -1 });
    expect(await page('?before=-1')).toEqual({ items: [], nextCursor: -1 });
    const last = await page(`?before=${String(head + 1)}&limit=2`);
    expect(seqs(last)).toEqual([head - 1, head]);
    expect(last.nextCursor).toBeNull();
  });

  it('can have certain types only, and counts those for its end', async () => {
    const ends = await page('?types=turn/start,turn/end&limit=3');
    expect(ends.items.map(({ type }) => type)).toEqual(['turn/start', 'turn/end', 'turn/start']);
    expect(ends.nextCursor).toBe(ends.items[2]!.seq);
    const rest = await page(`?types=turn/start,turn/end&limit=3&after=${String(ends.nextCursor)}`);
    expect(rest.items.map(({ type }) => type)).toEqual(['turn/end']);
    expect(rest.nextCursor).toBeNull();
  });

  it('is empty after the end', async () => {
    expect(await page(`?after=${String(head + 1000)}`)).toEqual({ items: [], nextCursor: null });
  });

  it('is what a caller gets that takes anything', async () => {
    for (const accept of [
      '*/*',
      'application/json',
      'application/json, text/event-stream;q=0.5',
      'text/html',
    ]) {
      const { headers } = await call(base, 'GET', undefined, { accept });
      expect(headers.get('content-type')).toContain('application/json');
    }
  });

  it.each([
    ['after=x', 'INVALID_CURSOR', 'after'],
    ['after=-2', 'INVALID_CURSOR', 'after'],
    ['after=1.5', 'INVALID_CURSOR', 'after'],
    ['after=3+4', 'INVALID_CURSOR', 'after'],
    ['before=x', 'INVALID_CURSOR', 'before'],
    ['limit=0', 'INVALID_REQUEST', 'limit'],
    ['limit=1001', 'INVALID_REQUEST', 'limit'],
    ['types=turn/start,nope', 'INVALID_REQUEST', 'types'],
    ['types=', 'INVALID_REQUEST', 'types'],
    ['after=1&before=3', 'INVALID_REQUEST', 'before'],
    ['until=turn-end', 'INVALID_REQUEST', 'until'],
  ])('is refused for ?%s', async (query, code, field) => {
    const answer = await call(`${base}?${query}`, 'GET');
    expect(answer.body).toMatchObject({ status: 400, code, field });
  });
});
