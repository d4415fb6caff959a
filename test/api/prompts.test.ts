import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { promptAnswerSchema, type PromptAnswer } from '../../src/contract/http.js';
import { StoreError } from '../../src/store/session-store.js';
import { call, newSession, startApi, withMethods, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
let prompts: string;
const open = async (options: Parameters<typeof startApi>[0] = {}) => {
  api = await startApi(options);
  await newSession(api, { id: 's' });
  prompts = `${api.url}/v1/sessions/s/prompts`;
};
beforeEach(() => open());
afterEach(() => api.stop());

const send = async (body: unknown, headers: Record<string, string> = {}) => {
  const { status, body: answer } = await call(prompts, 'POST', body, headers);
  return { status, answer: answer as PromptAnswer };
};

describe('a prompt', () => {
  it('opens a turn in an idle session, is in the log when it is accepted, and tells the engine once', async () => {
    const { status, answer } = await send({ requestId: 'r1', text: 'hello', timeZone: 'Europe/Berlin' });
    expect(status).toBe(202);
    expect(promptAnswerSchema.parse(answer)).toEqual({
      accepted: true,
      requestId: 'r1',
      sessionId: 's',
      itemId: expect.any(String) as string,
      turn: 1,
      position: null,
      cursor: '0',
      duplicate: false,
    });
    const uid = await api.uidOf('s');
    expect(api.nudges).toEqual([{ kind: 'start', uid, turn: 1 }]);
    const [event] = await api.store.readEvents(uid, { after: 0, limit: 10 });
    expect(event).toMatchObject({
      type: 'agent/inbox/spliced',
      data: {
        target: 'next-turn',
        inserted: [
          {
            itemId: answer.itemId,
            requestId: 'r1',
            content: [{ type: 'text', text: 'hello' }],
            source: { kind: 'user', requestId: 'r1', timeZone: 'Europe/Berlin', by: 'local' },
          },
        ],
      },
    });
  });

  it('says in the log where nobody can answer what its turn asks, and says nothing else', async () => {
    for (const unattended of [true, false, undefined]) await send({ text: 'go', unattended });
    const events = await api.store.readEvents(await api.uidOf('s'), { after: 0, limit: 10 });
    const marks = events.flatMap((event) =>
      event.type === 'agent/inbox/spliced' ? (event.data.inserted ?? []).map((item) => item.unattended) : [],
    );
    expect(marks).toEqual([true, undefined, undefined]);
    await new TurnDriver(api.store, await api.uidOf('s')).enter();
    expect((await api.store.readState(await api.uidOf('s'))).openTurn?.unattended).toBe(true);
  });

  it('waits behind a running turn and tells its place in its own list', async () => {
    await send({ text: 'first' });
    await new TurnDriver(api.store, await api.uidOf('s')).enter();
    const places = [];
    for (const mode of ['queue', 'queue', 'steer', 'inject']) {
      const { answer } = await send({ text: 'more', mode });
      places.push([answer.turn, answer.position]);
    }
    expect(places).toEqual([
      [null, 0],
      [null, 1],
      [null, 0],
      [null, 1],
    ]);
    expect(api.nudges).toHaveLength(1);
  });

  it('that is injected wakes nobody', async () => {
    const { answer } = await send({ text: 'by the way', mode: 'inject' });
    expect(answer).toMatchObject({ turn: null, position: 0 });
    expect(api.nudges).toEqual([]);
  });

  it('gets an id where none is given, and keeps any text as it is', async () => {
    const text = 'zero \u0000, lone \ud800, emoji 😀, \u2028';
    const { answer } = await send({ text });
    expect(answer.requestId).toMatch(/^[0-9a-f-]{36}$/);
    const { body } = await call(`${api.url}/v1/sessions/s`, 'GET');
    expect(body).toMatchObject({ queue: [{ content: [{ type: 'text', text }] }] });
  });

  it('is accepted while the engine cannot be reached', async () => {
    api.condition.engineFails = true;
    expect((await send({ text: 'go' })).status).toBe(202);
  });

  it('may choose another model for its turn', async () => {
    const { status } = await send({ text: 'go', provider: 'other', model: 'small' });
    expect(status).toBe(202);
  });
});

describe('a repeated request id', () => {
  it('with the same body is answered again, appends nothing and starts nothing', async () => {
    const first = await send({ requestId: 'r', text: 'a', mode: 'queue' });
    const { headSeq } = await api.store.readState(await api.uidOf('s'));
    const again = await send({ mode: 'queue', text: 'a', requestId: 'r' });
    expect(again.status).toBe(200);
    expect(again.answer).toEqual({ ...first.answer, duplicate: true });
    expect((await api.store.readState(await api.uidOf('s'))).headSeq).toBe(headSeq);
    expect(api.nudges).toHaveLength(1);
  });

  it('with the same body tells where the prompt is by then', async () => {
    const driver = new TurnDriver(api.store, await api.uidOf('s'));
    await send({ text: 'first' });
    await driver.enter();
    const queued = await send({ requestId: 'r', text: 'a' });
    expect(queued.answer).toMatchObject({ turn: null, position: 0 });
    await driver.attempt();
    await driver.message('done');
    await driver.end();
    expect((await send({ requestId: 'r', text: 'a' })).answer).toMatchObject({
      turn: 2,
      position: null,
      cursor: queued.answer.cursor,
      itemId: queued.answer.itemId,
    });
    await driver.wholeTurn('and again');
    expect((await send({ requestId: 'r', text: 'a' })).answer).toMatchObject({ turn: 2, duplicate: true });
  });

  it('with another body is refused with 422', async () => {
    await send({ requestId: 'r', text: 'a' });
    for (const body of [
      { requestId: 'r', text: 'b' },
      { requestId: 'r', text: 'a', mode: 'steer' },
      { requestId: 'r', text: 'a', timeZone: 'UTC' },
    ]) {
      const { status, answer } = await send(body);
      expect(status).toBe(422);
      expect(answer).toMatchObject({ code: 'REQUEST_ID_REUSED', field: 'requestId' });
    }
  });

  it('is the same in the header and in the body', async () => {
    const first = await send({ text: 'a' }, { 'idempotency-key': 'k' });
    expect(first.answer.requestId).toBe('k');
    const again = await send({ text: 'a', requestId: 'k' });
    expect(again.answer).toMatchObject({ duplicate: true, itemId: first.answer.itemId });
    const both = await send({ text: 'a', requestId: 'k' }, { 'idempotency-key': 'k' });
    expect(both.answer.duplicate).toBe(true);
  });

  it('is refused where header and body differ, and where the header is not valid', async () => {
    expect((await send({ text: 'a', requestId: 'x' }, { 'idempotency-key': 'y' })).answer).toMatchObject({
      status: 400,
      field: 'requestId',
    });
    expect((await send({ text: 'a' }, { 'idempotency-key': 'a b' })).answer).toMatchObject({
      status: 400,
      field: 'Idempotency-Key',
    });
  });

  it('makes one prompt of many that come at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send({ requestId: 'once', text: 'a' })),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(new Set(answers.map(({ answer }) => answer.itemId)).size).toBe(1);
    expect((await api.store.readState(await api.uidOf('s'))).inbox.nextTurn).toHaveLength(1);
  });

  it('of another session is another one', async () => {
    await send({ requestId: 'r', text: 'a' });
    await newSession(api, { id: 't' });
    const other = await call(`${api.url}/v1/sessions/t/prompts`, 'POST', { requestId: 'r', text: 'b' });
    expect(other.status).toBe(202);
  });
});

describe('a server that cannot take prompts', () => {
  it('refuses them with DRAINING while it shuts down', async () => {
    api.condition.isDraining = true;
    for (const path of ['/v1/sessions/s/prompts', '/v1/sessions', '/v1/turns']) {
      const body = path === '/v1/turns' ? { prompt: 'a' } : path.endsWith('prompts') ? { text: 'a' } : {};
      const answer = await call(`${api.url}${path}`, 'POST', body);
      expect(answer.body).toMatchObject({ status: 503, code: 'DRAINING' });
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((await call(`${api.url}/v1/sessions/s`, 'GET')).status).toBe(200);
  });

  it.each([
    [new StoreError('STORE_UNAVAILABLE', 'disk /secret/path is full'), 503, 'STORE_UNAVAILABLE'],
    [new StoreError('LOG_CORRUPT', 'byte 7 of /secret/path'), 500, 'INTERNAL'],
    [new TypeError('secret is not a function'), 500, 'INTERNAL'],
  ])('says so without telling more than the code: %s', async (error, status, code) => {
    await api.stop();
    let isBroken = false;
    await open({
      wrapStore: (store) =>
        withMethods(store, {
          transact: (uid, work) => (isBroken ? Promise.reject(error) : store.transact(uid, work)),
        }),
    });
    isBroken = true;
    const { answer } = await send({ text: 'a' });
    expect(answer).toMatchObject({ status, code });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});
