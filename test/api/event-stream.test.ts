import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/session-store.js';
import { call, withMethods } from './api-server.js';
import { AskedTurn } from './asked-turn.js';
import { FollowedSession, ids, range, seqs } from './followed-session.js';

let session: FollowedSession;
beforeEach(async () => {
  session = await FollowedSession.start();
});
afterEach(() => session.stop());

describe('the stream', () => {
  it('has headers that keep proxies from holding it back', async () => {
    const { headers } = await session.follow();
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(headers.get('cache-control')).toBe('no-store, no-transform');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('content-encoding')).toBeNull();
  });

  it('tells the state first, then the log from the start, then what comes', async () => {
    await session.prompt('a');
    const reader = await session.follow();
    await reader.until(({ events }) => events.length === 2);
    expect(reader.messages[0]).toMatchObject({
      event: 'state',
      data: { status: 'running', turn: 1, approvals: 0, queue: 1, engine: 'up' },
    });
    expect(ids(reader)).toEqual(['0', '1']);
    await session.driver.enter();
    await reader.until(({ events }) => events.length === 6);
    expect(seqs(reader)).toEqual(range(0, 5));
    expect(ids(reader)).toEqual(range(0, 5).map(String));
  });

  it('sends frames after the events that they follow, and ids that name both', async () => {
    await session.prompt('a');
    const reader = await session.follow();
    await session.driver.enter();
    await session.driver.attempt();
    await session.driver.stream('Hel', 'lo');
    await reader.until(({ frames }) => frames.length === 2);
    await session.driver.fail();
    await session.driver.attempt();
    await session.driver.stream('Good');
    await reader.until(({ frames }) => frames.length === 3);
    await session.driver.message('Good');
    await session.driver.end();
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
    await session.prompt('a');
    const reader = await session.follow();
    await session.driver.enter();
    await session.driver.attempt();
    await session.driver.message('', ['read', 'read']);
    await session.driver.startCall(0, 'read');
    await session.driver.startCall(1, 'read');
    await session.driver.output(0, 0, 'zero');
    await session.driver.output(1, 0, 'one');
    await reader.until(({ frames }) => frames.length === 2);
    await session.driver.result(0, 'zero');
    await session.driver.output(1, 1, 'more');
    await reader.until(({ frames }) => frames.length === 3);
    await session.driver.result(1, 'one more');
    await session.driver.nextStep();
    await reader.until(({ events }) => events.at(-1)?.type === 'step/start');
    expect(ids(reader).slice(-7)).toEqual(['8+1', '8+2', '9+2', '9+3', '10+3', '11', '12']);
    expect(reader.frames.map(({ call: index }) => index)).toEqual([0, 1, 1]);
  });

  it('tells what waits for a person, approvals and questions alike, and each decision at once', async () => {
    await session.prompt('a');
    const turn = await AskedTurn.enter(session.api.store, await session.api.uidOf('s'), 2);
    const approval = await turn.ask(0);
    const reader = await session.follow();
    await reader.until(({ states }) => states.at(-1)?.approvals === 1);
    const question = await turn.askQuestion(1, [{ id: 'q', question: 'Which?' }]);
    await reader.until(({ states }) => states.at(-1)?.approvals === 2);
    await call(`${session.api.url}/v1/approvals/${approval}`, 'POST', { outcome: 'allow' });
    await reader.until(({ states }) => states.at(-1)?.approvals === 1);
    expect(reader.states.at(-1)).toMatchObject({ status: 'waiting-approval' });
    await call(`${session.api.url}/v1/questions/${question}`, 'POST', {
      answers: [{ id: 'q', text: 'this' }],
    });
    await reader.until(({ states }) => states.at(-1)?.approvals === 0);
    expect(reader.states.at(-1)).toMatchObject({ status: 'running', turn: 1 });
  });

  it('tells the state again when it changes, and only then', async () => {
    const reader = await session.follow();
    await reader.until(({ states }) => states.length === 1);
    await session.prompt('a');
    await session.driver.enter();
    await session.driver.attempt();
    await session.driver.stream('x');
    await session.driver.fail();
    await reader.until(({ states }) => states.at(-1)?.status === 'retrying');
    await session.driver.attempt();
    await session.driver.message('x');
    await session.driver.end();
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
    await session.stop();
    session = await FollowedSession.start({ settings: { pingIntervalMs: 10 } });
    const reader = await session.follow();
    await reader.until(({ messages }) => messages.filter(({ event }) => event === 'ping').length === 2);
    const ping = reader.messages.find(({ event }) => event === 'ping');
    expect(ping?.id).toBeUndefined();
    expect(ping?.data).toEqual({ at: expect.stringMatching(/^\d{4}-.*Z$/) as string });
    session.api.condition.isEngineUp = false;
    await reader.until(({ states }) => states.at(-1)?.engine === 'down');
  });

  it('ends when its session is deleted', async () => {
    const reader = await session.follow();
    await reader.until(({ states }) => states.length === 1);
    await call(`${session.api.url}/v1/sessions/s`, 'DELETE');
    await reader.done();
  });

  it('is cut where the store fails, so that the reader comes back', async () => {
    await session.api.stop();
    let fails = false;
    session = await FollowedSession.start({
      wrapStore: (store) =>
        withMethods(store, {
          readTail: (uid, cursor) =>
            fails ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'gone')) : store.readTail(uid, cursor),
        }),
    });
    const reader = await session.follow();
    await reader.until(({ events }) => events.length === 1);
    fails = true;
    await session.prompt('a');
    await reader.done();
    expect(seqs(reader)).toEqual([0]);
    expect(await session.refused('')).toMatchObject({
      status: 503,
      problem: { code: 'STORE_UNAVAILABLE' },
    });
    fails = false;
    const back = await session.follow('?after=0');
    await back.until(({ events }) => events.length === 1);
    expect(seqs(back)).toEqual([1]);
  });

  it('answers HEAD with its headers alone', async () => {
    const response = await fetch(session.url, { method: 'HEAD', headers: { accept: 'text/event-stream' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
  });
});
