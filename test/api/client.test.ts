/** The client against the real API, over connections that break. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient, type Client } from '../../src/client/client.js';
import type { FollowItem } from '../../src/client/follow.js';
import { AskedTurn } from './asked-turn.js';
import { startApi, type ApiServer } from './api-server.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
let client: Client;
beforeEach(async () => {
  api = await startApi();
  client = createClient({ baseUrl: api.url });
});
afterEach(() => api.stop());

describe('the client', () => {
  it('does with a session what the API does', async () => {
    const { id } = await client.createSession({ id: 's', workspace: api.workspace });
    expect((await client.updateSession(id, { title: 'T' })).title).toBe('T');
    expect((await client.session(id)).title).toBe('T');
    expect((await client.listSessions({ limit: 1 })).items).toHaveLength(1);
    const answer = await client.prompt(id, { text: 'a', requestId: 'r' });
    expect(answer).toMatchObject({ turn: 1, duplicate: false });
    expect((await client.prompt(id, { text: 'a', requestId: 'r' })).duplicate).toBe(true);
    const driver = new TurnDriver(api.store, await api.uidOf(id));
    await driver.enter();
    expect(await client.cancelTurn(id, 1, { cause: 'no' })).toEqual({ cancelled: true, turn: 1 });
    await driver.attempt();
    await driver.message('done');
    await driver.end({ kind: 'completed' }, 'done');
    expect(await client.cancel(id)).toEqual({ cancelled: false, turn: null });
    expect(await client.turn(id, 1, { waitSeconds: 1 })).toMatchObject({ status: 'ended', output: 'done' });
    expect((await client.turns(id)).items).toHaveLength(1);
    expect((await client.messages(id)).items.map(({ role }) => role)).toEqual(['user', 'assistant']);
    const page = await client.events(id, { types: ['turn/start', 'turn/end'], limit: 1 });
    expect(page).toMatchObject({ items: [{ type: 'turn/start' }], nextCursor: expect.any(Number) as number });
    expect((await client.models()).items.length).toBeGreaterThan(0);
    expect((await client.readiness()).status).toBe('ready');
    await client.deleteSession(id);
    await expect(client.session(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('edits, moves and removes what waits, and uploads what a prompt can name', async () => {
    await client.createSession({ id: 's' });
    await client.prompt('s', { text: 'a' });
    await new TurnDriver(api.store, await api.uidOf('s')).enter();
    const data = new TextEncoder().encode('a,b');
    const { sha256 } = await client.uploadBlob('s', data, 'text/csv');
    expect(await client.uploadBlob('s', new Blob([data]), 'text/csv')).toEqual({
      sha256,
      bytes: 3,
      mediaType: 'text/csv',
    });
    const content = [{ type: 'file' as const, blob: sha256 as string, name: 'a.csv', mediaType: 'text/csv' }];
    const { itemId } = await client.prompt('s', { content });
    expect(await client.changeQueued('s', itemId, { text: 'b' })).toMatchObject({ target: 'next-turn' });
    expect(await client.changeQueued('s', itemId, { mode: 'steer' })).toMatchObject({ target: 'next-step' });
    await client.removeQueued('s', itemId);
    await expect(client.removeQueued('s', itemId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.prompt('s', { text: 'c', whenRunning: 'reject' })).rejects.toMatchObject({
      code: 'TURN_RUNNING',
    });
  });

  it('lists, shows, decides and answers what a turn asks', async () => {
    const turn = await AskedTurn.start(api, 's', 4);
    const [first, second, third] = await turn.askAll(3);
    const question = await turn.askQuestion(3, [{ id: 'q', question: 'Which?' }]);
    const page = await client.approvals({ session: 's', limit: 2 });
    expect(page.items.map(({ approvalId }) => approvalId)).toEqual([third, second]);
    const rest = await client.approvals({ session: 's', limit: 2, cursor: page.nextCursor! });
    expect(rest.items.map(({ approvalId }) => approvalId)).toEqual([first]);
    expect((await client.decideApproval(first!, { outcome: 'deny' })).decision?.outcome).toBe('denied');
    expect((await client.approval(first!)).decision?.outcome).toBe('denied');
    const decisions = [second!, third!].map((approvalId) => ({ approvalId, outcome: 'allow' as const }));
    expect((await client.decideApprovals({ decisions })).items.map(({ status }) => status)).toEqual([
      200, 200,
    ]);
    expect((await client.approvals({ status: 'closed' })).items).toHaveLength(3);
    expect((await client.questions()).items).toMatchObject([{ questionId: question }]);
    await client.answerQuestion(question, { answers: [{ id: 'q', text: 'this' }] });
    expect((await client.question(question)).answer).toMatchObject({ outcome: 'answered' });
    await expect(client.decideApproval(first!, { outcome: 'allow' })).rejects.toMatchObject({
      code: 'APPROVAL_DECIDED',
    });
  });

  it('runs a job', async () => {
    const turn = await client.runTurn({ prompt: 'go', requestId: 'j' });
    await new TurnDriver(api.store, await api.uidOf(turn.sessionId)).wholeTurn('done');
    expect(await client.runTurn({ prompt: 'go', requestId: 'j' }, { waitSeconds: 1 })).toMatchObject({
      output: 'done',
    });
  });

  it('follows a turn to its end over connections that break after any number of bytes', async () => {
    const breaking = createClient({ baseUrl: api.url, fetch: breakingFetch(400) });
    await client.createSession({ id: 's' });
    const driver = new TurnDriver(api.store, await api.uidOf('s'));
    const { cursor } = await client.prompt('s', { text: 'a' });
    const items: FollowItem[] = [];
    let breaks = 0;
    const reading = (async () => {
      const options = { after: cursor, until: 'turn-end', turn: 1 } as const;
      const timing = { silenceMs: 20_000, firstBackoffMs: 1, maxBackoffMs: 2 };
      const onDisconnect = () => {
        breaks += 1;
      };
      for await (const item of breaking.follow('s', { ...options, timing, onDisconnect })) items.push(item);
    })();
    await driver.enter();
    await driver.attempt();
    await driver.stream('wrong');
    await driver.fail();
    await driver.attempt();
    await driver.stream(...'right answer'.split(' '));
    await driver.message('right answer');
    await driver.end({ kind: 'completed' }, 'right answer');
    await reading;

    expect(breaks).toBeGreaterThan(3);
    const seqs = items.flatMap((item) => (item.type === 'event' ? [item.event.seq] : []));
    const log = await api.store.readEvents(await api.uidOf('s'), { after: Number(cursor), limit: 100 });
    expect(seqs).toEqual(log.map(({ seq }) => seq));
    expect(items.at(-1)).toMatchObject({ type: 'end', turn: { output: 'right answer' } });
  });
});

/** Cuts each stream after a few more bytes than the one before, so that every place is cut at some time. */
function breakingFetch(step: number): typeof fetch {
  let budget = step;
  return async (input, init) => {
    const response = await fetch(input, init);
    let left = (budget += step / 3);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          return;
        }
        controller.enqueue(value.slice(0, left));
        left -= value.length;
        if (left > 0) return;
        await reader.cancel();
        controller.error(new TypeError('terminated'));
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}
