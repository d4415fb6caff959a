import { describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/client.js';
import type { FollowTenantOptions, TenantItem } from '../../../src/client/follow-tenant.js';
import { problem, scriptedFetch, ScriptedStream, type ScriptedAnswer } from './scripted-fetch.js';

const TIMING = { silenceMs: 1000, firstBackoffMs: 1, maxBackoffMs: 2 };
const SESSION = { id: 's', change: 'changed', status: 'running', turn: 1 };
const ASK = { sessionId: 's', turn: 1, step: 1, status: 'open' };

function start(answers: ScriptedAnswer[], options: FollowTenantOptions = {}) {
  const { fetch, requests } = scriptedFetch(answers);
  const client = createClient({ baseUrl: 'http://server/', fetch });
  return { items: client.followTenant({ timing: TIMING, ...options }), requests };
}

async function first(count: number, items: AsyncIterable<TenantItem>): Promise<TenantItem[]> {
  const seen: TenantItem[] = [];
  for await (const item of items) {
    seen.push(item);
    if (seen.length === count) break;
  }
  return seen;
}

const begun = () => new ScriptedStream().send('ping', { at: '' });

describe('a follow of a tenant', () => {
  it('says that it has begun, then what changes, and nothing of later pings', async () => {
    const stream = begun()
      .send('session', SESSION)
      .send('ping', { at: '' })
      .send('approval', { approvalId: 'a', ...ASK })
      .send('news', {})
      .send('question', { questionId: 'q', ...ASK });
    const { items, requests } = start([stream], { types: ['session', 'approval', 'question'] });
    expect(await first(4, items)).toEqual([
      { type: 'start' },
      { type: 'session', session: SESSION },
      { type: 'approval', approval: { approvalId: 'a', ...ASK } },
      { type: 'question', question: { questionId: 'q', ...ASK } },
    ]);
    expect(requests[0]?.url.href).toBe('http://server/v1/events?types=session%2Capproval%2Cquestion');
    expect(requests[0]?.headers.get('accept')).toBe('text/event-stream');
    expect(stream.isCancelled).toBe(true);
  });

  it('says so again after each break, without a cursor', async () => {
    const { items, requests } = start([
      begun().send('session', SESSION).close(),
      new TypeError('fetch failed'),
      problem(503, 'DRAINING'),
      begun().break(),
      begun().send('session', SESSION),
    ]);
    const seen = await first(4, items);
    expect(seen.map(({ type }) => type)).toEqual(['start', 'session', 'start', 'session']);
    expect(requests.every(({ headers }) => headers.get('last-event-id') === null)).toBe(true);
  });

  it('gives up where it would be refused again', async () => {
    const { items } = start([problem(403, 'FORBIDDEN')]);
    await expect(first(1, items)).rejects.toMatchObject({ name: 'ApiError', code: 'FORBIDDEN' });
  });
});
