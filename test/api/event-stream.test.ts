import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/session-store.js';
import { call, newSession, startApi, withMethods, type ApiServer } from './api-server.js';
import { StreamReader } from './stream-reader.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
let driver: TurnDriver;
let url: string;
const readers: StreamReader[] = [];

const start = async (options: Parameters<typeof startApi>[0] = {}) => {
  api = await startApi(options);
  await newSession(api, { id: 's' });
  url = `${api.url}/v1/sessions/s/events`;
  driver = new TurnDriver(api.store, await api.uidOf('s'));
};
beforeEach(() => start());
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await api.stop();
});

const follow = async (query = '', headers: Record<string, string> = {}) => {
  const reader = await StreamReader.open(url + query, headers);
  readers.push(reader);
  return reader;
};
const prompt = (text: string) => call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text });
const ids = (reader: StreamReader) => reader.items.map(({ id }) => id);
const seqs = (reader: StreamReader) => reader.events.map(({ seq }) => seq);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe('the stream', () => {
  it('has headers that keep proxies from holding it back', async () => {
    const { headers } = await follow();
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(headers.get('cache-control')).toBe('no-store, no-transform');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('content-encoding')).toBeNull();
  });

  it('tells the state first, then the log from the start, then what comes', async () => {
    await prompt('a');
    const reader = await follow();
    await reader.until(({ events }) => events.length === 2);
    expect(reader.messages[0]).toMatchObject({
      event: 'state',
      data: { status: 'running', turn: 1, approvals: 0, queue: 1, engine: 'up' },
    });
    expect(ids(reader)).toEqual(['0', '1']);
    await driver.enter();
    await reader.until(({ events }) => events.length === 6);
    expect(seqs(reader)).toEqual(range(0, 5));
    expect(ids(reader)).toEqual(range(0, 5).map(String));
  });

  it('sends frames after the events that they follow, and ids that name both', async () => {
    await prompt('a');
    const reader = await follow();
    await driver.enter();
    await driver.attempt();
    await driver.stream('Hel', 'lo');
    await reader.until(({ frames }) => frames.length === 2);
    await driver.fail();
    await driver.attempt();
    await driver.stream('Good');
    await reader.until(({ frames }) => frames.length === 3);
    await driver.message('Good');
    await driver.end();
    await reader.until(({ events }) => events.at(-1)?.type === 'turn/end');
    expect(ids(reader)).toEqual([
      ...range(0, 5).map(String),
      '5+1',
      '5+2',
      // The withdrawal settles the first attempt, so its frames need not be named any more.
      '6',
      '7',
      '7+3',
      '8',
      '9',
      '10',
    ]);
    expect(
      reader.frames.map(({ turn, step, attempt, index, chunks }) => [
        turn,
        step,
        attempt,
        index,
        chunks.length,
      ]),
    ).toEqual([
      [1, 1, 1, 0, 2],
      [1, 1, 1, 2, 1],
      [1, 1, 2, 0, 2],
    ]);
  });

  it('names the frame in the ids of events while calls run', async () => {
    await prompt('a');
    const reader = await follow();
    await driver.enter();
    await driver.attempt();
    await driver.message('', ['read', 'read']);
    await driver.startCall(0, 'read');
    await driver.startCall(1, 'read');
    await driver.output(0, 0, 'zero');
    await driver.output(1, 0, 'one');
    await reader.until(({ frames }) => frames.length === 2);
    await driver.result(0, 'zero');
    await driver.output(1, 1, 'more');
    await reader.until(({ frames }) => frames.length === 3);
    await driver.result(1, 'one more');
    await driver.nextStep();
    await reader.until(({ events }) => events.at(-1)?.type === 'step/start');
    expect(ids(reader).slice(-7)).toEqual(['8+1', '8+2', '9+2', '9+3', '10+3', '11', '12']);
    expect(reader.frames.map(({ call: index }) => index)).toEqual([0, 1, 1]);
  });

  it('tells the state again when it changes, and only then', async () => {
    const reader = await follow();
    await reader.until(({ states }) => states.length === 1);
    await prompt('a');
    await driver.enter();
    await driver.attempt();
    await driver.stream('x');
    await driver.fail();
    await reader.until(({ states }) => states.at(-1)?.status === 'retrying');
    await driver.attempt();
    await driver.message('x');
    await driver.end();
    await reader.until(({ states }) => states.at(-1)?.status === 'idle');
    const texts = reader.states.map((state) => JSON.stringify(state));
    expect(texts.every((text, n) => text !== texts[n - 1])).toBe(true);
    expect(reader.states[0]).toEqual({ status: 'idle', turn: null, approvals: 0, queue: 0, engine: 'up' });
    expect(reader.states.find(({ status }) => status === 'retrying')).toMatchObject({
      turn: 1,
      step: 1,
      attempt: 2,
      retryAt: expect.any(String) as string,
    });
  });

  it('sends pings as events that a reader can see, and tells that the engine is down', async () => {
    await api.stop();
    await start({ settings: { pingIntervalMs: 10 } });
    const reader = await follow();
    await reader.until(({ messages }) => messages.filter(({ event }) => event === 'ping').length === 2);
    const ping = reader.messages.find(({ event }) => event === 'ping');
    expect(ping?.id).toBeUndefined();
    expect(ping?.data).toEqual({ at: expect.stringMatching(/^\d{4}-.*Z$/) as string });
    api.condition.isEngineUp = false;
    await reader.until(({ states }) => states.at(-1)?.engine === 'down');
  });

  it('ends when its session is deleted', async () => {
    const reader = await follow();
    await reader.until(({ states }) => states.length === 1);
    await call(`${api.url}/v1/sessions/s`, 'DELETE');
    await reader.done();
  });

  it('is cut where the store fails, so that the reader comes back', async () => {
    await api.stop();
    let fails = false;
    await start({
      wrapStore: (store) =>
        withMethods(store, {
          readTail: (uid, cursor) =>
            fails ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'gone')) : store.readTail(uid, cursor),
        }),
    });
    const reader = await follow();
    await reader.until(({ events }) => events.length === 1);
    fails = true;
    await prompt('a');
    await reader.done();
    expect(seqs(reader)).toEqual([0]);
    expect(await StreamReader.tryOpen(url)).toMatchObject({
      status: 503,
      problem: { code: 'STORE_UNAVAILABLE' },
    });
    fails = false;
    const back = await follow('?after=0');
    await back.until(({ events }) => events.length === 1);
    expect(seqs(back)).toEqual([1]);
  });

  it('answers HEAD with its headers alone', async () => {
    const response = await fetch(url, { method: 'HEAD', headers: { accept: 'text/event-stream' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
  });
});

describe('a cursor', () => {
  beforeEach(async () => {
    await prompt('a');
    await driver.enter();
    await driver.attempt();
    await driver.stream('one', 'two');
  });

  it('continues after an event with all frames of what runs', async () => {
    const reader = await follow('?after=3');
    await reader.until(({ frames }) => frames.length === 2);
    expect(ids(reader)).toEqual(['4', '5', '5+1', '5+2']);
  });

  it.each(['5+1', '5%2B1'])('continues after a frame, escaped or not: %s', async (cursor) => {
    const reader = await follow(`?after=${cursor}`);
    await reader.until(({ frames }) => frames.length === 1);
    expect(ids(reader)).toEqual(['5+2']);
  });

  it('in Last-Event-ID wins over the one in the query', async () => {
    const reader = await follow('?after=-1', { 'last-event-id': '5+2' });
    await driver.message('onetwo');
    await reader.until(({ events }) => events.length === 1);
    expect(ids(reader)).toEqual(['6']);
  });

  it('before the start is the start, and at the end waits for what comes', async () => {
    const all = await follow('?after=-1');
    await all.until(({ frames }) => frames.length === 2);
    expect(seqs(all)).toEqual(range(0, 5));
    const end = await follow('?after=5%2B2');
    await end.until(({ states }) => states.length === 1);
    await driver.message('onetwo');
    await end.until(({ events }) => events.length === 1);
    expect(ids(end)).toEqual(['6']);
  });

  it.each([
    '6',
    '999999999999999',
    '5+3',
    '0+9',
    'x',
    '',
    '1.5',
    '-2',
    '5+',
    '+1',
    '5+-1',
    '5+1+1',
    '99999999999999999999',
  ])('that cannot be is refused before the stream begins: %j', async (cursor) => {
    for (const [query, headers] of [
      [`?after=${encodeURIComponent(cursor)}`, {}],
      ['', { 'last-event-id': cursor }],
    ] as const) {
      // An empty header is no header.
      if (cursor === '' && query === '') continue;
      const refused = await StreamReader.tryOpen(url + query, headers);
      expect(refused).toMatchObject({ status: 400, problem: { code: 'INVALID_CURSOR' } });
    }
  });

  it.each([
    ['until=never', 'until'],
    ['turn=1', 'turn'],
    ['until=turn-end&turn=x', 'turn'],
    ['limit=3', 'limit'],
    ['types=turn/end', 'types'],
  ])('beside a parameter that does not fit is refused: %s', async (query, field) => {
    const refused = await StreamReader.tryOpen(`${url}?${query}`);
    expect(refused).toMatchObject({ status: 400, problem: { code: 'INVALID_REQUEST', field } });
  });
});

describe('a follow until the end of a turn', () => {
  it('ends with the turn that was open when it began, whatever follows', async () => {
    await prompt('a');
    await driver.enter();
    await prompt('b');
    const reader = await follow('?until=turn-end');
    await driver.attempt();
    await driver.message('done');
    await driver.end({ kind: 'completed' }, 'done');
    await reader.done();
    expect(reader.end).toMatchObject({ turn: 1, status: 'ended', output: 'done' });
    expect(reader.messages.at(-1)).toMatchObject({ event: 'end' });
    expect(reader.events.at(-1)).toMatchObject({ type: 'turn/end', turn: 1 });
  });

  it('ends at once with the last turn where nothing runs, after what is stored', async () => {
    await prompt('a');
    await driver.wholeTurn('done');
    const head = (await api.store.readState(await api.uidOf('s'))).headSeq;
    const all = await follow('?until=turn-end');
    await all.done();
    expect(seqs(all)).toEqual(range(0, head));
    expect(all.end).toMatchObject({ turn: 1, output: 'done' });
    expect(all.messages.at(-1)?.id).toBe(String(head));
    const rest = await follow(`?until=turn-end&after=${String(head)}`);
    await rest.done();
    expect(rest.items).toEqual([]);
    expect(rest.end).toMatchObject({ turn: 1 });
  });

  it('ends at once without a turn where there was none', async () => {
    const reader = await follow('?until=turn-end');
    await reader.done();
    expect(reader.end).toEqual({ turn: null });
  });

  it('of a turn that is over sends that turn and nothing later', async () => {
    await prompt('a');
    await driver.wholeTurn('one');
    await prompt('b');
    await driver.wholeTurn('two');
    const reader = await follow('?until=turn-end&turn=1');
    await reader.done();
    expect(reader.end).toMatchObject({ turn: 1, output: 'one' });
    expect(reader.events.at(-1)).toMatchObject({ type: 'turn/end', turn: 1 });
    const late = await follow('?until=turn-end&turn=1&after=12');
    await late.done();
    expect(late.items).toEqual([]);
    expect(late.end).toMatchObject({ turn: 1 });
  });

  it('waits for a turn that is queued', async () => {
    await prompt('a');
    await driver.enter();
    await prompt('b');
    const reader = await follow('?until=turn-end&turn=2');
    await driver.attempt();
    await driver.message('one');
    await driver.end();
    await driver.wholeTurn('two');
    await reader.done();
    expect(reader.end).toMatchObject({ turn: 2, output: 'two' });
  });

  it('ends without a turn where the session comes to rest before that turn', async () => {
    await prompt('a');
    await driver.enter();
    await call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text: 'b', mode: 'steer' });
    const reader = await follow('?until=turn-end&turn=2');
    const state = await api.store.readState(await api.uidOf('s'));
    await driver.append([
      {
        type: 'agent/inbox/spliced',
        turn: 1,
        data: {
          target: 'next-step',
          start: 0,
          removed: [state.inbox.nextStep[0]!.itemId],
          outcome: 'claimed',
        },
      },
    ]);
    await driver.attempt();
    await driver.message('one');
    await driver.end();
    await reader.done();
    expect(reader.end).toEqual({ turn: null });
  });

  it('of a turn that will not come is refused', async () => {
    await prompt('a');
    expect(await StreamReader.tryOpen(`${url}?until=turn-end&turn=3`)).toMatchObject({
      status: 404,
      problem: { code: 'NOT_FOUND' },
    });
  });
});
