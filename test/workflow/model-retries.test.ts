import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import type { StreamState } from '../../src/contract/http.js';
import type { Reply } from '../support/scripted-model-server.js';
import { dataOf, turnSetup, untilEvent } from '../support/turn-setup.js';

const { start, startWithApi } = turnSetup();

const limited = (headers: Record<string, string>): Reply => ({
  status: 429,
  headers,
  body: { error: { type: 'rate_limit_error', message: 'slow down' } },
});

type Api = Awaited<ReturnType<typeof startWithApi>>;

/** Follows the session until the stream tells such a state. */
async function stateOf({ client }: Api, id: string, found: (state: StreamState) => boolean) {
  const abort = new AbortController();
  for await (const item of client.follow(id, { signal: abort.signal })) {
    if (item.type !== 'state' || !found(item.state)) continue;
    abort.abort();
    return item.state;
  }
  throw new Error('The stream ended.');
}

const retryOf = (events: readonly SessionEvent[]) => dataOf(events, 'llm/retry');

describe('a wait for another attempt', () => {
  it.each<[string, () => Record<string, string>, number]>([
    ['seconds', () => ({ 'retry-after': '600' }), 600_000],
    ['a date', () => ({ 'retry-after': new Date(Date.now() + 600_000).toUTCString() }), 600_000],
    ['milliseconds', () => ({ 'retry-after-ms': '600000', 'retry-after': '1' }), 600_000],
  ])(
    'that the provider names in %s shows in the stream, in the turn and in the session',
    async (_name, headers, delayMs) => {
      const api = await startWithApi(() => limited(headers()));
      const { client, model } = api;
      const { id } = await client.createSession({});
      await client.prompt(id, { text: 'go' });
      const state = await stateOf(api, id, ({ status }) => status === 'retrying');
      const turn = await client.turn(id, 1);
      const [retry] = retryOf((await client.events(id)).items);
      expect(retry).toMatchObject({ attempt: 1, code: 'RATE_LIMIT', from: 'retry-after' });
      expect(Math.abs(retry!.delayMs - delayMs)).toBeLessThan(5000);
      expect(state).toMatchObject({
        status: 'retrying',
        turn: 1,
        step: 1,
        attempt: 2,
        retryAt: retry!.retryAt,
      });
      expect(turn).toMatchObject({ status: 'retrying', retryAt: retry!.retryAt });
      expect(Math.abs(Date.parse(retry!.retryAt) - Date.now() - delayMs)).toBeLessThan(10_000);
      expect((await client.session(id)).status).toBe('retrying');

      const askedAt = Date.now();
      await client.cancel(id);
      const ended = await client.turn(id, 1, { waitSeconds: 30 });
      expect(ended.reason).toMatchObject({ kind: 'aborted' });
      expect(ended).not.toHaveProperty('retryAt');
      expect(Date.now() - askedAt).toBeLessThan(2000);
      expect(model.requests).toHaveLength(1);
    },
  );

  it('is over when its time has come, and the state says so', async () => {
    const { client, model } = await startWithApi([limited({ 'retry-after-ms': '300' }), { text: 'Yes.' }]);
    const { id } = await client.createSession({});
    await client.prompt(id, { text: 'go' });
    const turn = await client.turn(id, 1, { waitSeconds: 30 });
    expect(turn).toMatchObject({ status: 'ended', output: 'Yes.' });
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]!.at - model.requests[0]!.at).toBeGreaterThanOrEqual(300);
    expect((await client.session(id)).status).toBe('idle');
  });

  it('past the turn’s time limit ends the turn at that limit', async () => {
    const { runtime, model } = await start(() => limited({ 'retry-after': '3600' }), {
      policy: { wallTimeMs: 800 },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    expect((await runtime.ended(uid, 1)).reason).toMatchObject({ kind: 'limit', which: 'time' });
    expect(model.requests).toHaveLength(1);
  });

  it('holds the other turns of the same provider too, and none of them storms it', async () => {
    const { runtime, model } = await start(
      ({ number }) => (number === 1 ? limited({ 'retry-after-ms': '700' }) : { text: 'Yes.' }),
      { attempts: 6 },
    );
    const first = await runtime.createSession();
    await runtime.prompt(first, 'go');
    await untilEvent(runtime, first, ({ type }) => type === 'llm/retry');
    const others = await Promise.all([1, 2, 3].map(() => runtime.createSession()));
    await Promise.all(others.map((uid) => runtime.prompt(uid, 'go')));
    for (const uid of [first, ...others]) {
      expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
    }
    const [refused, ...answered] = model.requests;
    expect(answered).toHaveLength(4);
    for (const { at } of answered) expect(at - refused!.at).toBeGreaterThanOrEqual(690);
  });
});

describe('the number of attempts', () => {
  it('is the configured one, to the request', async () => {
    const { runtime, model } = await start(() => limited({ 'retry-after-ms': '1' }), { attempts: 4 });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    expect((await runtime.ended(uid, 1)).reason).toMatchObject({
      kind: 'error',
      code: 'RATE_LIMIT',
      status: 429,
      providerRequestId: 'req_4',
    });
    expect(model.requests).toHaveLength(4);
    expect(retryOf(await runtime.events(uid))).toHaveLength(3);
  });

  it('leaves out those whose worker was lost', async () => {
    const { runtime, model } = await start(
      ({ number }) =>
        number === 2 || number === 3
          ? { text: 'I was', accident: { afterEvents: 2, what: 'silence' } }
          : { status: 503, headers: { 'retry-after-ms': '1' } },
      { attempts: 3 },
    );
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    for (const lost of [2, 3]) {
      await model.request(lost);
      await runtime.restart();
    }
    const turn = await runtime.ended(uid, 1);
    const attempts = dataOf(await runtime.events(uid), 'assistant/attempt');
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'lost', 'lost', 'failed', 'failed']);
    expect(turn.reason).toMatchObject({ kind: 'error', code: 'SERVER' });
    expect(model.requests).toHaveLength(5);
  });
});
