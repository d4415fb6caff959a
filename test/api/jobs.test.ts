import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { turnResourceSchema, type TurnResource } from '../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

const post = async (body: unknown, query = '', headers: Record<string, string> = {}) => {
  const answer = await call(`${api.url}/v1/turns${query}`, 'POST', body, headers);
  return { ...answer, turn: answer.body as TurnResource };
};

describe('a job', () => {
  it('gets a session of its own and answers with its turn and where that is', async () => {
    const { status, headers, turn } = await post({
      prompt: 'go',
      workspace: api.workspace,
      permission: 'full-access',
      limits: { steps: 2 },
      metadata: { ticket: '7' },
    });
    expect(status).toBe(202);
    expect(turnResourceSchema.parse(turn)).toMatchObject({ turn: 1, status: 'running' });
    expect(headers.get('location')).toBe(`/v1/sessions/${turn.sessionId}/turns/1`);
    const session = await call(`${api.url}/v1/sessions/${turn.sessionId}`, 'GET');
    expect(session.body).toMatchObject({
      workspace: api.workspace,
      permission: 'full-access',
      limits: { steps: 2 },
      metadata: { ticket: '7' },
    });
    expect(api.nudges).toEqual([{ kind: 'start', uid: await api.uidOf(turn.sessionId), turn: 1 }]);
  });

  it.each([
    ['?wait=60', {}],
    ['', { prefer: 'wait=60' }],
    ['', { prefer: 'respond-async, wait=60; x=y' }],
  ])('answers 200 with the ended turn where that comes in time: %s %j', async (query, headers) => {
    const waiting = post({ prompt: 'go', requestId: 'j' }, query, headers);
    // The same request again tells the session, without a second turn.
    const { turn } = await post({ prompt: 'go', requestId: 'j' });
    await new TurnDriver(api.store, await api.uidOf(turn.sessionId)).wholeTurn('done');
    const answer = await waiting;
    expect(answer.status).toBe(200);
    expect(answer.turn).toMatchObject({ status: 'ended', output: 'done', reason: { kind: 'completed' } });
  });

  it('answers 202 with the turn where the time is over', async () => {
    const { status, turn } = await post({ prompt: 'go' }, '?wait=0.05');
    expect(status).toBe(202);
    expect(turn.status).toBe('running');
  });

  it('that is repeated is the same turn, also when both come at once and after its end', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post({ prompt: 'go' }, '', { 'idempotency-key': 'same' })),
    );
    const ids = new Set(answers.map(({ turn }) => turn.sessionId));
    expect(ids.size).toBe(1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const [id] = [...ids];
    await new TurnDriver(api.store, await api.uidOf(id!)).wholeTurn('done');
    const again = await post({ prompt: 'go', requestId: 'same' });
    expect([again.status, again.turn.turn, again.turn.output]).toEqual([200, 1, 'done']);
    expect(api.nudges).toHaveLength(1);
  });

  it('with a request id that had another body is refused', async () => {
    await post({ prompt: 'go', requestId: 'j' });
    for (const body of [
      { prompt: 'stop', requestId: 'j' },
      { prompt: 'go', requestId: 'j', profile: 'careful' },
    ]) {
      expect((await post(body)).body).toMatchObject({ status: 422, code: 'REQUEST_ID_REUSED' });
    }
  });

  it('runs in a session that is named', async () => {
    await newSession(api, { id: 's' });
    const { turn } = await post({ prompt: [{ type: 'text', text: 'go' }], sessionId: 's', requestId: 'r' });
    expect(turn).toMatchObject({ sessionId: 's', turn: 1, requestIds: ['r'] });
    const again = await post({ prompt: [{ type: 'text', text: 'go' }], sessionId: 's', requestId: 'r' });
    expect(again.turn.turn).toBe(1);
    expect((await post({ prompt: 'other', sessionId: 's', requestId: 'r' })).status).toBe(422);
  });

  it('is refused while its session has an open turn, and stores nothing', async () => {
    await newSession(api, { id: 's' });
    await post({ prompt: 'one', sessionId: 's' });
    const answer = await post({ prompt: 'two', sessionId: 's', requestId: 'r' });
    expect(answer.body).toMatchObject({ status: 409, code: 'TURN_RUNNING' });
    const state = await api.store.readState(await api.uidOf('s'));
    expect(state.inbox.nextTurn).toHaveLength(1);
  });

  it.each([
    ['prompt', { prompt: ' ' }],
    ['prompt', {}],
    ['prompt.0.text', { prompt: [{ type: 'text' }] }],
    ['colour', { prompt: 'a', colour: 'red' }],
    ['profile', { prompt: 'a', profile: 'nope' }],
    ['model', { prompt: 'a', model: 'nope' }],
    ['workspace', { prompt: 'a', workspace: '/does/not/exist' }],
    ['workspace', { prompt: 'a', sessionId: 's', workspace: '/tmp' }],
    ['limits', { prompt: 'a', sessionId: 's', limits: { steps: 1 } }],
    ['limits.steps', { prompt: 'a', limits: { steps: 0 } }],
  ])('is refused with the name of what is wrong: %s in %j', async (field, body) => {
    await newSession(api, { id: 's' });
    expect((await post(body)).body).toMatchObject({ status: 400, code: 'INVALID_REQUEST', field });
  });

  it('in a session that does not exist is refused with 404', async () => {
    expect((await post({ prompt: 'a', sessionId: 'none' })).body).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    });
  });
});
