import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { turnResourceSchema, type Page, type TurnResource } from '../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
let driver: TurnDriver;
let base: string;
beforeEach(async () => {
  api = await startApi();
  await newSession(api, { id: 's' });
  base = `${api.url}/v1/sessions/s`;
  driver = new TurnDriver(api.store, await api.uidOf('s'));
});
afterEach(() => api.stop());

const prompt = (text: string, requestId: string) => call(`${base}/prompts`, 'POST', { text, requestId });
const turn = async (path = 'turns/1') =>
  turnResourceSchema.parse((await call(`${base}/${path}`, 'GET')).body);

describe('a turn', () => {
  it('is there from its admission on, with the request that it will take', async () => {
    await prompt('a', 'r1');
    expect(await turn()).toMatchObject({
      sessionId: 's',
      turn: 1,
      status: 'running',
      steps: 0,
      requestIds: ['r1'],
      approvals: [],
    });
  });

  it('tells how far it is while it goes on', async () => {
    await prompt('a', 'r1');
    await driver.enter();
    await driver.attempt();
    await driver.message('one', ['read']);
    await driver.startCall(0, 'read');
    await driver.result(0, 'text');
    await driver.nextStep();
    expect(await turn()).toMatchObject({ status: 'running', steps: 2, usage: { outputTokens: 1 } });
  });

  it('tells when it is tried again', async () => {
    await prompt('a', 'r1');
    await driver.enter();
    await driver.attempt();
    await driver.fail();
    const { status, retryAt } = await turn();
    expect(status).toBe('retrying');
    expect(retryAt).toMatch(/Z$/);
  });

  it('tells how it ended, and the next one in the queue follows it', async () => {
    await prompt('a', 'r1');
    await driver.enter();
    await prompt('b', 'r2');
    await driver.attempt();
    await driver.message('the answer');
    await driver.end({ kind: 'completed' }, 'the answer');
    expect(await turn()).toMatchObject({
      status: 'ended',
      reason: { kind: 'completed' },
      output: 'the answer',
      steps: 1,
      requestIds: ['r1'],
      endedAt: expect.any(String) as string,
    });
    expect(await turn('turns/2')).toMatchObject({ status: 'running', requestIds: ['r2'] });
    expect((await call(`${base}/turns/3`, 'GET')).status).toBe(404);
  });

  it('has its whole output, also where that was too large for its event', async () => {
    await prompt('a', 'r1');
    await driver.enter();
    await driver.attempt();
    await driver.message('long');
    const output = 'ä'.repeat(100_000);
    await driver.end({ kind: 'completed' }, output);
    expect((await turn()).output).toBe(output);
  });

  it('gives a large content as a blob that can be fetched', async () => {
    const text = 'x'.repeat(60_000) + 'y'.repeat(6000);
    await driver.append([]);
    await prompt('a', 'r1');
    await driver.enter();
    await driver.attempt();
    await driver.message(text);
    const page = (await call(`${base}/events?types=assistant/message`, 'GET')).body as Page<{
      data: { content: { type: string; sha256: string; bytes: number }[] };
    }>;
    const [block] = page.items[0]!.data.content;
    expect(block).toMatchObject({ type: 'blob', bytes: 66_000 });
    const response = await fetch(`${base}/blobs/${block!.sha256}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-disposition')).toBe('attachment');
    expect(await response.text()).toBe(text);
  });
});

describe('waiting for a turn', () => {
  it('answers when it ends', async () => {
    await prompt('a', 'r1');
    const waiting = turn('turns/1?wait=60');
    await driver.wholeTurn('done');
    expect(await waiting).toMatchObject({ status: 'ended', output: 'done' });
  });

  it('answers at once where it has ended', async () => {
    await prompt('a', 'r1');
    await driver.wholeTurn('done');
    expect(await turn('turns/1?wait=300')).toMatchObject({ status: 'ended' });
  });

  it('answers with what is then where the time is over', async () => {
    await prompt('a', 'r1');
    expect(await turn('turns/1?wait=0.05')).toMatchObject({ status: 'running' });
  });

  it('answers 404 where the session is deleted meanwhile', async () => {
    await prompt('a', 'r1');
    const waiting = call(`${base}/turns/1?wait=60`, 'GET');
    await driver.enter();
    await api.store.deleteSession(await api.uidOf('s'));
    expect((await waiting).status).toBe(404);
  });

  it.each(['301', '-1', 'x', '', '1e3'])('refuses ?wait=%s', async (wait) => {
    const answer = await call(`${base}/turns/1?wait=${wait}`, 'GET');
    expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_REQUEST', field: 'wait' });
  });
});

describe('listing turns', () => {
  it('goes through all of them, newest first, the open one included', async () => {
    for (let n = 1; n <= 4; n += 1) {
      await prompt('again', `r${String(n)}`);
      await driver.wholeTurn('done');
    }
    await prompt('open', 'r5');
    const seen: [number, string][] = [];
    let query = 'limit=2';
    for (;;) {
      const page = (await call(`${base}/turns?${query}`, 'GET')).body as Page<TurnResource>;
      seen.push(...page.items.map((item): [number, string] => [item.turn, item.status]));
      if (page.nextCursor === null) break;
      query = `limit=2&cursor=${page.nextCursor}`;
    }
    expect(seen).toEqual([
      [5, 'running'],
      [4, 'ended'],
      [3, 'ended'],
      [2, 'ended'],
      [1, 'ended'],
    ]);
  });
});

describe('cancelling', () => {
  const cancel = (path: string, body?: unknown) => call(`${base}/${path}`, 'POST', body);

  it('stores the wish, names who and why, and tells the engine', async () => {
    await prompt('a', 'r1');
    const answer = await cancel('cancel', { cause: 'enough' });
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({ cancelled: true, turn: 1 });
    const uid = await api.uidOf('s');
    expect(api.nudges).toContainEqual({ kind: 'cancel', uid, turn: 1 });
    const [event] = await api.store.readEvents(uid, { limit: 9, types: ['turn/cancel-requested'] });
    expect(event).toMatchObject({ turn: 1, data: { by: 'local', cause: 'enough' } });
    expect(await turn()).toMatchObject({ status: 'cancelling' });
  });

  it('answers again while the turn is being cancelled, and stores one wish', async () => {
    await prompt('a', 'r1');
    for (const path of ['cancel', 'turns/1/cancel', 'cancel']) {
      const answer = await cancel(path, {});
      expect([answer.status, answer.body]).toEqual([202, { cancelled: true, turn: 1 }]);
    }
    const events = await api.store.readEvents(await api.uidOf('s'), {
      limit: 9,
      types: ['turn/cancel-requested'],
    });
    expect(events).toHaveLength(1);
  });

  it('of an idle session does nothing, and does not harm the next prompt', async () => {
    const answer = await cancel('cancel');
    expect([answer.status, answer.body]).toEqual([200, { cancelled: false, turn: null }]);
    await prompt('a', 'r1');
    expect(await turn()).toMatchObject({ status: 'running' });
  });

  it('of a turn that has ended does nothing to the one that runs', async () => {
    await prompt('a', 'r1');
    await driver.wholeTurn('done');
    await prompt('b', 'r2');
    const answer = await cancel('turns/1/cancel');
    expect([answer.status, answer.body]).toEqual([200, { cancelled: false, turn: 1 }]);
    expect(await turn('turns/2')).toMatchObject({ status: 'running' });
  });

  it('of a turn that is not there yet is refused', async () => {
    await prompt('a', 'r1');
    expect((await cancel('turns/2/cancel')).status).toBe(404);
  });
});

describe('messages', () => {
  it('are those that the model is shown, page by page', async () => {
    for (const text of ['one', 'two']) {
      await prompt(text, text);
      await driver.wholeTurn(`${text}!`);
    }
    const first = (await call(`${base}/messages?limit=3`, 'GET')).body as Page<{ role: string }>;
    const rest = (await call(`${base}/messages?limit=3&cursor=${String(first.nextCursor)}`, 'GET'))
      .body as Page<{ role: string }>;
    expect(rest.nextCursor).toBeNull();
    expect([...first.items, ...rest.items]).toEqual([
      { seq: expect.any(Number) as number, role: 'user', content: [{ type: 'text', text: 'one' }] },
      { seq: expect.any(Number) as number, role: 'assistant', content: [{ type: 'text', text: 'one!' }] },
      { seq: expect.any(Number) as number, role: 'user', content: [{ type: 'text', text: 'two' }] },
      { seq: expect.any(Number) as number, role: 'assistant', content: [{ type: 'text', text: 'two!' }] },
    ]);
  });

  it('refuse a cursor that names no message', async () => {
    const answer = await call(`${base}/messages?cursor=7`, 'GET');
    expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_CURSOR' });
  });
});
