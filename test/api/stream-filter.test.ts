import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call } from './api-server.js';
import { FollowedSession, ids, seqs } from './followed-session.js';

let session: FollowedSession;
beforeEach(async () => {
  session = await FollowedSession.start({ settings: { pingIntervalMs: 20 } });
});
afterEach(() => session.stop());

describe('a stream of some types', () => {
  it('has those events alone, and every frame, state, ping and the end', async () => {
    await session.prompt('a');
    const reader = await session.follow('?types=turn/start,turn/end&until=turn-end');
    await session.driver.enter();
    await session.driver.attempt();
    await session.driver.stream('do', 'ne');
    await reader.until(({ frames, messages }) => frames.length === 2 && messages.at(-1)?.event === 'ping');
    await session.driver.message('done');
    await session.driver.end({ kind: 'completed' }, 'done');
    await reader.done();
    expect(reader.events.map(({ type }) => type)).toEqual(['turn/start', 'turn/end']);
    expect(reader.states[0]).toMatchObject({ status: 'running', turn: 1 });
    expect(reader.end).toMatchObject({ turn: 1, output: 'done' });
  });

  it('ends with the turn where its end is not among them', async () => {
    await session.prompt('a');
    const reader = await session.follow('?types=turn/start&until=turn-end');
    await session.driver.wholeTurn('done');
    await reader.done();
    expect(reader.events.map(({ type }) => type)).toEqual(['turn/start']);
    expect(reader.end).toMatchObject({ turn: 1, output: 'done' });
    expect(reader.messages.at(-1)?.id).toBe(String(await session.headSeq()));
  });

  it('has ids that count what was left out, so that a reconnect at any of them repeats and skips nothing', async () => {
    await session.prompt('a');
    const reader = await session.follow('?types=step/start,assistant/message');
    await session.driver.enter();
    await session.driver.attempt();
    await session.driver.stream('one', 'two');
    await reader.until(({ frames }) => frames.length === 2);
    await session.driver.fail();
    await session.driver.attempt();
    await session.driver.stream('three');
    await reader.until(({ frames }) => frames.length === 3);
    // The last events before a frame are none of the chosen ones; its id names them all the same.
    expect(ids(reader)).toEqual(['4', '5+1', '5+2', '7+3']);
    const back = await session.follow('?types=step/start,assistant/message', { 'last-event-id': '5+2' });
    await back.until(({ frames }) => frames.length === 1);
    await session.driver.message('three');
    await back.until(({ events }) => events.length === 1);
    expect(ids(back)).toEqual(['7+3', '8']);
  });

  it('has pings with an id, which take a reader past all that it did not want', async () => {
    const reader = await session.follow('?types=turn/end');
    for (let n = 0; n < 10; n += 1) {
      await call(`${session.api.url}/v1/sessions/s`, 'PATCH', { title: `title ${String(n)}` });
    }
    const head = String(await session.headSeq());
    await reader.until(({ messages }) => messages.some(({ event, id }) => event === 'ping' && id === head));
    expect(reader.events).toEqual([]);
    await session.prompt('a');
    await session.driver.wholeTurn('done');
    const back = await session.follow('?types=turn/end', { 'last-event-id': head });
    await back.until(({ events }) => events.length === 1);
    expect(back.events).toMatchObject([{ type: 'turn/end', turn: 1 }]);
  });

  it('reads past a long log without holding up other readers', async () => {
    await session.driver.append(
      Array.from({ length: 3000 }, (_, n) => ({
        type: 'session/title' as const,
        data: { title: String(n), source: 'user' as const },
      })),
    );
    const order: string[] = [];
    const filtered = session.follow('?types=turn/start').then(async (reader) => {
      const head = String(await session.headSeq());
      await reader.until(({ messages }) => messages.some(({ event, id }) => event === 'ping' && id === head));
      order.push('filtered');
    });
    const quick = call(`${session.api.url}/v1/models`, 'GET').then(() => order.push('quick'));
    await Promise.all([filtered, quick]);
    expect(order).toEqual(['quick', 'filtered']);
  });

  it('is the whole stream where all types are named, hole for hole', async () => {
    await session.prompt('a');
    const whole = await session.follow();
    await session.driver.wholeTurn('done');
    const head = await session.headSeq();
    await whole.until(({ events }) => events.at(-1)?.seq === head);
    const types = [...new Set(whole.events.map(({ type }) => type))].join(',');
    const reader = await session.follow(`?types=${types}`);
    await reader.until(({ events }) => events.at(-1)?.seq === head);
    expect(seqs(reader)).toEqual(seqs(whole));
  });
});
