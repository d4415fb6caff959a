import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FollowedSession, ids, range, seqs } from './followed-session.js';

let session: FollowedSession;
beforeEach(async () => {
  session = await FollowedSession.start();
});
afterEach(() => session.stop());

describe('a cursor', () => {
  beforeEach(async () => {
    await session.prompt('a');
    await session.driver.enter();
    await session.driver.attempt();
    await session.driver.stream('one', 'two');
  });

  it('continues after an event with all frames of what runs', async () => {
    const reader = await session.follow('?after=3');
    await reader.until(({ frames }) => frames.length === 2);
    expect(ids(reader)).toEqual(['4', '5', '5+1', '5+2']);
  });

  it.each(['5+1', '5%2B1'])('continues after a frame, escaped or not: %s', async (cursor) => {
    const reader = await session.follow(`?after=${cursor}`);
    await reader.until(({ frames }) => frames.length === 1);
    expect(ids(reader)).toEqual(['5+2']);
  });

  it('in Last-Event-ID wins over the one in the query', async () => {
    const reader = await session.follow('?after=-1', { 'last-event-id': '5+2' });
    await session.driver.message('onetwo');
    await reader.until(({ events }) => events.length === 1);
    expect(ids(reader)).toEqual(['6']);
  });

  it('before the start is the start, and at the end waits for what comes', async () => {
    const all = await session.follow('?after=-1');
    await all.until(({ frames }) => frames.length === 2);
    expect(seqs(all)).toEqual(range(0, 5));
    const end = await session.follow('?after=5%2B2');
    await end.until(({ states }) => states.length === 1);
    await session.driver.message('onetwo');
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
      const refused = await session.refused(query, headers);
      expect(refused).toMatchObject({ status: 400, problem: { code: 'INVALID_CURSOR' } });
    }
  });

  it.each([
    ['until=never', 'until'],
    ['turn=1', 'turn'],
    ['until=turn-end&turn=x', 'turn'],
    ['limit=3', 'limit'],
    ['types=turn/end,nothing', 'types'],
    ['types=', 'types'],
  ])('beside a parameter that does not fit is refused: %s', async (query, field) => {
    const refused = await session.refused(`?${query}`);
    expect(refused).toMatchObject({ status: 400, problem: { code: 'INVALID_REQUEST', field } });
  });
});
