/** What a job may want beside an answer: webhooks and output schemas, as they are submitted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Problem, TurnResource } from '../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi({ settings: { bodyLimitBytes: 1024 * 1024 } });
});
afterEach(() => api.stop());

const submit = async (extras: Record<string, unknown>) => {
  const { status, body } = await call(`${api.url}/v1/turns`, 'POST', { prompt: 'go', ...extras });
  return { status, problem: body as Problem, turn: body as TurnResource };
};

describe('the address of a webhook', () => {
  it.each([
    'not an address',
    'ftp://example.com/',
    'file:///etc/passwd',
    'http://ann:open-sesame@example.com/',
    'http://127.0.0.1:8787/v1/sessions',
    'http://127.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://localhost:3000/',
    'http://api.LOCALHOST./',
  ])('is refused where nothing could ever be posted to it: %s', async (url) => {
    const { status, problem } = await submit({ webhook: { url } });
    expect(status).toBe(400);
    expect(problem).toMatchObject({ code: 'INVALID_REQUEST', field: 'webhook.url' });
    expect(JSON.stringify(problem)).not.toContain('open-sesame');
  });

  it.each(['https://example.com/hook?token=1', 'http://93.184.215.14/', 'http://intranet.example/'])(
    'is taken where that cannot be known: %s',
    async (url) => {
      expect((await submit({ webhook: { url } })).status).toBe(202);
    },
  );

  it.each([
    [{ secret: 's' }, 'webhook.url'],
    [{ url: 'https://example.com', secret: '' }, 'webhook.secret'],
    [{ url: 'https://example.com', events: [] }, 'webhook.events'],
  ])('comes in its own shape: %j', async (webhook, field) => {
    expect((await submit({ webhook })).problem).toMatchObject({ code: 'INVALID_REQUEST', field });
  });
});

describe('an accepted webhook', () => {
  const webhook = { url: 'https://example.com/private-path', secret: 'open-sesame' };

  it('waits for the end of its turn, once however often the job is sent', async () => {
    const { turn } = await submit({ requestId: 'r', webhook });
    await submit({ requestId: 'r', webhook });
    const uid = await api.uidOf(turn.sessionId);
    expect(await api.store.followUps.due({ uid, turn: 1 })).toEqual([]);
    await new TurnDriver(api.store, uid).wholeTurn('done');
    expect(await api.store.followUps.due({ uid, turn: 1 })).toHaveLength(1);
    const begun = await api.store.followUps.begin({ uid, turn: 1, kind: 'webhook' });
    expect(begun?.target).toEqual({
      ...webhook,
      deliveryId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
  });

  it('stands in no event and in no answer', async () => {
    const { turn } = await submit({ webhook });
    await new TurnDriver(api.store, await api.uidOf(turn.sessionId)).wholeTurn('done');
    for (const path of ['', '/events', '/turns', '/turns/1', '/messages']) {
      const { body } = await call(`${api.url}/v1/sessions/${turn.sessionId}${path}`, 'GET');
      expect(JSON.stringify(body)).not.toMatch(/private-path|open-sesame/);
    }
  });

  it('is kept for the job that opened a turn, and for no other', async () => {
    const { id } = await newSession(api);
    const first = await submit({ sessionId: id, webhook });
    const second = await submit({ sessionId: id, webhook: { url: 'https://example.com/second' } });
    expect([first.status, second.problem.code]).toEqual([202, 'TURN_RUNNING']);
    const uid = await api.uidOf(id);
    await new TurnDriver(api.store, uid).wholeTurn('done');
    const begun = await api.store.followUps.begin({ uid, turn: 1, kind: 'webhook' });
    expect(begun?.target?.url).toBe(webhook.url);
  });
});

describe('an output schema', () => {
  it.each([
    [{ type: 'strng' }],
    ['{}'],
    [true],
    [{ pattern: '(' }],
    [{ $ref: 'https://example.com/a' }],
    [{ description: 'x'.repeat(64 * 1024 - 10) }],
    [JSON.parse(`${'{"not":'.repeat(200)}{}${'}'.repeat(200)}`)],
  ])('that is none is refused: %#', async (outputSchema: unknown) => {
    const { status, problem } = await submit({ outputSchema });
    expect(status).toBe(400);
    expect(problem).toMatchObject({ code: 'INVALID_REQUEST', field: 'outputSchema' });
  });

  it('travels in the log with its prompt', async () => {
    const outputSchema = { type: 'object', properties: { a: { const: [1, null] } } };
    const { status, turn } = await submit({ outputSchema });
    expect(status).toBe(202);
    const events = await api.store.readEvents(await api.uidOf(turn.sessionId), { limit: 10 });
    const inserted = events.flatMap((event) =>
      event.type === 'agent/inbox/spliced' ? (event.data.inserted ?? []) : [],
    );
    expect(inserted.map((item) => item.outputSchema)).toEqual([outputSchema]);
  });
});
