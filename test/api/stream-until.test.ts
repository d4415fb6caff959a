import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FollowedSession, range, seqs } from './followed-session.js';

let session: FollowedSession;
beforeEach(async () => {
  session = await FollowedSession.start();
});
afterEach(() => session.stop());

describe('a follow until the end of a turn', () => {
  it('ends with the turn that was open when it began, whatever follows', async () => {
    await session.prompt('a');
    await session.driver.enter();
    await session.prompt('b');
    const reader = await session.follow('?until=turn-end');
    await session.driver.attempt();
    await session.driver.message('done');
    await session.driver.end({ kind: 'completed' }, 'done');
    await reader.done();
    expect(reader.end).toMatchObject({ turn: 1, status: 'ended', output: 'done' });
    expect(reader.messages.at(-1)).toMatchObject({ event: 'end' });
    expect(reader.events.at(-1)).toMatchObject({ type: 'turn/end', turn: 1 });
  });

  it('ends at once with the last turn where nothing runs, after what is stored', async () => {
    await session.prompt('a');
    await session.driver.wholeTurn('done');
    const head = await session.headSeq();
    const all = await session.follow('?until=turn-end');
    await all.done();
    expect(seqs(all)).toEqual(range(0, head));
    expect(all.end).toMatchObject({ turn: 1, output: 'done' });
    expect(all.messages.at(-1)?.id).toBe(String(head));
    const rest = await session.follow(`?until=turn-end&after=${String(head)}`);
    await rest.done();
    expect(rest.items).toEqual([]);
    expect(rest.end).toMatchObject({ turn: 1 });
  });

  it('ends at once without a turn where there was none', async () => {
    const reader = await session.follow('?until=turn-end');
    await reader.done();
    expect(reader.end).toEqual({ turn: null });
  });

  it('of a turn that is over sends that turn and nothing later', async () => {
    await session.prompt('a');
    await session.driver.wholeTurn('one');
    await session.prompt('b');
    await session.driver.wholeTurn('two');
    const reader = await session.follow('?until=turn-end&turn=1');
    await reader.done();
    expect(reader.end).toMatchObject({ turn: 1, output: 'one' });
    expect(reader.events.at(-1)).toMatchObject({ type: 'turn/end', turn: 1 });
    const late = await session.follow('?until=turn-end&turn=1&after=12');
    await late.done();
    expect(late.items).toEqual([]);
    expect(late.end).toMatchObject({ turn: 1 });
  });

  it('waits for a turn that is queued', async () => {
    await session.prompt('a');
    await session.driver.enter();
    await session.prompt('b');
    const reader = await session.follow('?until=turn-end&turn=2');
    await session.driver.attempt();
    await session.driver.message('one');
    await session.driver.end();
    await session.driver.wholeTurn('two');
    await reader.done();
    expect(reader.end).toMatchObject({ turn: 2, output: 'two' });
  });

  it('ends without a turn where the session comes to rest before that turn', async () => {
    await session.prompt('a');
    await session.driver.enter();
    await session.prompt('b', 'steer');
    const reader = await session.follow('?until=turn-end&turn=2');
    const state = await session.api.store.readState(await session.api.uidOf('s'));
    await session.driver.append([
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
    await session.driver.attempt();
    await session.driver.message('one');
    await session.driver.end();
    await reader.done();
    expect(reader.end).toEqual({ turn: null });
  });

  it('of a turn that will not come is refused', async () => {
    await session.prompt('a');
    expect(await session.refused(`?until=turn-end&turn=3`)).toMatchObject({
      status: 404,
      problem: { code: 'NOT_FOUND' },
    });
  });
});
