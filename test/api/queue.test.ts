import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  queueItemSchema,
  type PromptAnswer,
  type QueueItem,
  type SessionResource,
} from '../../src/contract/http.js';
import { checkLog } from '../support/log-invariants.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
let session: string;
let driver: TurnDriver;
beforeEach(async () => {
  api = await startApi();
  await newSession(api, { id: 's' });
  session = `${api.url}/v1/sessions/s`;
  driver = new TurnDriver(api.store, await api.uidOf('s'));
});
afterEach(() => api.stop());

const send = async (body: unknown) => {
  const { status, body: answer } = await call(`${session}/prompts`, 'POST', body);
  return { status, answer: answer as PromptAnswer };
};
const queue = async () => ((await call(session, 'GET')).body as SessionResource).queue;
const change = async (itemId: string, body: unknown) => {
  const answer = await call(`${session}/queue/${itemId}`, 'PATCH', body);
  return { ...answer, item: answer.body as QueueItem };
};
const remove = (itemId: string) => call(`${session}/queue/${itemId}`, 'DELETE');
const types = async () =>
  (await api.store.readEvents(await api.uidOf('s'), { limit: 1000 })).map(({ type }) => type);

/** A running turn with one queued prompt behind it. */
async function busy(): Promise<string> {
  await send({ text: 'first' });
  await driver.enter();
  return (await send({ text: 'second', requestId: 'r' })).answer.itemId;
}

describe('an item of the queue', () => {
  it('is edited with a text or with content, and answered as the session has it', async () => {
    const itemId = await busy();
    const edited = await change(itemId, { text: 'other' });
    expect(edited.status).toBe(200);
    expect(queueItemSchema.parse(edited.item)).toMatchObject({
      itemId,
      requestId: 'r',
      target: 'next-turn',
      content: [{ type: 'text', text: 'other' }],
      position: 0,
    });
    const content = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ];
    expect((await change(itemId, { content })).item).toMatchObject({ content });
    expect(await queue()).toMatchObject([{ itemId, content }]);
  });

  it('is moved to the running turn and back, and keeps its id', async () => {
    const itemId = await busy();
    await send({ text: 'steer', mode: 'steer' });
    expect((await change(itemId, { mode: 'steer' })).item).toMatchObject({
      itemId,
      target: 'next-step',
      position: 1,
    });
    expect((await change(itemId, { mode: 'queue' })).item).toMatchObject({
      target: 'next-turn',
      position: 0,
    });
    const { length } = await types();
    expect((await change(itemId, { mode: 'queue' })).item).toMatchObject({
      target: 'next-turn',
      position: 0,
    });
    expect(await types()).toHaveLength(length);
    expect(api.nudges).toHaveLength(1);
  });

  it('is removed for good', async () => {
    const itemId = await busy();
    expect((await remove(itemId)).status).toBe(204);
    expect(await queue()).toEqual([]);
    for (const answer of [await remove(itemId), await change(itemId, { text: 'late' })]) {
      expect(answer.body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    }
  });

  it('that a turn has taken is not changed any more', async () => {
    const itemId = await busy();
    await driver.attempt();
    await driver.message('done');
    await driver.end({ kind: 'completed' }, 'done');
    await driver.enter();
    for (const answer of [
      await remove(itemId),
      await change(itemId, { text: 'late' }),
      await change(itemId, { mode: 'steer' }),
    ]) {
      expect(answer.body).toMatchObject({ status: 409, code: 'ALREADY_CLAIMED' });
    }
    expect(
      checkLog(await api.store.readEvents(await api.uidOf('s'), { limit: 1000 }), { mayRun: true }),
    ).toEqual([]);
  });

  it.each(['steer', 'queue'])('that was injected wakes its idle session as a %s', async (mode) => {
    const { answer } = await send({ text: 'by the way', mode: 'inject' });
    await change(answer.itemId, { text: 'edited' });
    expect(api.nudges).toEqual([]);
    expect((await change(answer.itemId, { mode })).status).toBe(200);
    expect(api.nudges).toEqual([{ kind: 'start', uid: await api.uidOf('s'), turn: 1 }]);
    await driver.wholeTurn('done');
    expect(await queue()).toEqual([]);
  });

  it.each([
    ['nothing', {}, 'text'],
    ['text and content', { text: 'a', content: [{ type: 'text', text: 'b' }] }, 'text'],
    ['blank text', { text: ' ' }, 'text'],
    ['a mode that is none of a move', { mode: 'inject' }, 'mode'],
    ['an unknown field', { text: 'a', colour: 'red' }, 'colour'],
    [
      'a blob that is not there',
      { content: [{ type: 'file', blob: 'a'.repeat(64), name: 'a.txt', mediaType: 'text/plain' }] },
      'content.0',
    ],
  ])('is not changed by a body with %s', async (_what, body, field) => {
    const itemId = await busy();
    const before = await types();
    expect((await change(itemId, body)).body).toMatchObject({ status: 400, code: 'INVALID_REQUEST', field });
    expect(await types()).toEqual(before);
  });

  it('that is not there, or of a session that is not, is a 404', async () => {
    await busy();
    expect((await remove('none')).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    const elsewhere = await call(`${api.url}/v1/sessions/none/queue/x`, 'PATCH', { text: 'a' });
    expect(elsewhere.body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });
});

describe('a prompt with whenRunning', () => {
  it.each(['reject', 'interrupt'])('is an ordinary one in an idle session: %s', async (whenRunning) => {
    const { status, answer } = await send({ text: 'go', whenRunning });
    expect([status, answer.turn]).toEqual([202, 1]);
    expect(api.nudges).toEqual([{ kind: 'start', uid: await api.uidOf('s'), turn: 1 }]);
  });

  it.each(['queue', 'steer', 'inject'])(
    'reject is refused while a turn is open, and not stored: %s',
    async (mode) => {
      await send({ text: 'first' });
      const before = await types();
      const refused = await send({ text: 'second', whenRunning: 'reject', mode, requestId: 'r' });
      expect(refused.answer).toMatchObject({ status: 409, code: 'TURN_RUNNING' });
      expect(await types()).toEqual(before);
      await driver.wholeTurn('done');
      expect((await send({ text: 'second', whenRunning: 'reject', mode, requestId: 'r' })).status).toBe(202);
    },
  );

  it('interrupt goes to the front of the queue and cancels the turn, which the engine is told', async () => {
    const queued = await busy();
    const { status, answer } = await send({ text: 'now', whenRunning: 'interrupt', requestId: 'now' });
    expect(status).toBe(202);
    expect(answer).toMatchObject({ turn: null, position: 0, duplicate: false });
    expect((await queue()).map(({ itemId }) => itemId)).toEqual([answer.itemId, queued]);
    expect(api.nudges.at(-1)).toEqual({ kind: 'cancel', uid: await api.uidOf('s'), turn: 1 });
    const events = await api.store.readEvents(await api.uidOf('s'), { limit: 1000 });
    expect(events.find(({ type }) => type === 'turn/cancel-requested')?.data).toEqual({
      by: 'local',
      cause: 'interrupt',
    });
    await driver.end({ kind: 'aborted', cause: 'user', by: 'local' });
    await driver.enter();
    const again = await send({ text: 'now', whenRunning: 'interrupt', requestId: 'now' });
    expect(again.status).toBe(200);
    expect(again.answer).toMatchObject({ duplicate: true, turn: 2, itemId: answer.itemId });
    expect((await api.store.readState(await api.uidOf('s'))).openTurn?.cancel).toBeNull();
    expect(api.nudges.filter(({ kind }) => kind === 'cancel')).toHaveLength(1);
  });

  it.each([
    [{ text: 'a', whenRunning: 'wait' }],
    [{ text: 'a', whenRunning: 'interrupt', mode: 'steer' }],
    [{ text: 'a', whenRunning: 'interrupt', mode: 'inject' }],
  ])('is refused where it makes no sense: %j', async (body) => {
    expect((await send(body)).answer).toMatchObject({ status: 400, field: 'whenRunning' });
  });
});
