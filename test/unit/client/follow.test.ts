import { describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/client.js';
import type { FollowItem, FollowOptions } from '../../../src/client/follow.js';
import { problem, scriptedFetch, ScriptedStream, type ScriptedAnswer } from './scripted-fetch.js';

const TIMING = { silenceMs: 1000, firstBackoffMs: 1, maxBackoffMs: 2 };
const ENDED = { sessionId: 's', turn: 3, status: 'ended' };

function start(answers: ScriptedAnswer[], options: FollowOptions = {}) {
  const { fetch, requests } = scriptedFetch(answers);
  const items = createClient({ baseUrl: 'http://server/', fetch }).follow('s', {
    timing: TIMING,
    ...options,
  });
  return { items, requests };
}

async function all(items: AsyncIterable<FollowItem>): Promise<FollowItem[]> {
  const seen: FollowItem[] = [];
  for await (const item of items) seen.push(item);
  return seen;
}

/** Short names of items: `e0` an event, `f1` a frame. */
function names(items: readonly FollowItem[]): string[] {
  return items.map((item) => {
    switch (item.type) {
      case 'event':
        return `e${String(item.event.seq)}`;
      case 'frame':
        return `f${String(item.frame.frame)}`;
      default:
        return item.type;
    }
  });
}

describe('a follow', () => {
  it('asks for the event stream with the cursor, and yields items until the end', async () => {
    const stream = new ScriptedStream()
      .send('state', { status: 'running', turn: 3 })
      .event(8)
      .frame(8, 1)
      .send('ping', { at: '' })
      .send('end', ENDED, '8')
      .close();
    const { items, requests } = start([stream], { after: '7', until: 'turn-end', turn: 3 });
    const seen = await all(items);
    expect(names(seen)).toEqual(['state', 'e8', 'f1', 'end']);
    expect(seen.at(-1)).toEqual({ type: 'end', turn: ENDED });
    expect(requests[0]?.url.href).toBe('http://server/v1/sessions/s/events?until=turn-end&turn=3');
    expect(requests[0]?.headers.get('accept')).toBe('text/event-stream');
    expect(requests[0]?.headers.get('last-event-id')).toBe('7');
  });

  it('yields an end without a turn as null', async () => {
    const { items } = start([new ScriptedStream().send('end', { turn: null }, '0')], { until: 'turn-end' });
    expect(await all(items)).toEqual([{ type: 'end', turn: null }]);
  });

  it.each(['close', 'break'] as const)(
    'comes back with the id of the last item after a connection that ends: %s',
    async (how) => {
      const first = new ScriptedStream().event(0).event(1, '1').frame(1, 4);
      const { items, requests } = start([
        first,
        new ScriptedStream().event(2).send('end', ENDED, '2').close(),
      ]);
      const seen: FollowItem[] = [];
      for await (const item of items) {
        seen.push(item);
        if (seen.length === 3) first[how]();
      }
      expect(names(seen)).toEqual(['e0', 'e1', 'f4', 'e2', 'end']);
      expect(requests.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '1+4']);
    },
  );

  it('yields once what two connections have sent both', async () => {
    const { items } = start([
      new ScriptedStream().event(0).event(1).frame(1, 1).close(),
      new ScriptedStream().event(0).event(1).frame(1, 1).frame(1, 2).event(2).send('end', ENDED).close(),
    ]);
    expect(names(await all(items))).toEqual(['e0', 'e1', 'f1', 'f2', 'e2', 'end']);
  });

  it('reads again where an event is missing, and never yields what comes after the hole', async () => {
    const { items, requests } = start([
      new ScriptedStream().event(0).event(2),
      new ScriptedStream().event(1).event(2).send('end', ENDED).close(),
    ]);
    expect(names(await all(items))).toEqual(['e0', 'e1', 'e2', 'end']);
    expect(requests[1]?.headers.get('last-event-id')).toBe('0');
  });

  it('tries again while the server cannot be reached or says that it is not able, and tells of it', async () => {
    const breaks: string[] = [];
    const { items } = start(
      [
        new TypeError('fetch failed'),
        problem(503, 'STORE_UNAVAILABLE'),
        problem(429, 'RATE_LIMITED'),
        new Response('<html>', { status: 502 }),
        new ScriptedStream().send('end', ENDED).close(),
      ],
      { onDisconnect: (error) => breaks.push((error as Error).name) },
    );
    expect(names(await all(items))).toEqual(['end']);
    expect(breaks).toEqual(['ConnectionError', 'ApiError', 'ApiError', 'ApiError']);
  });

  it('waits for as long as the server asks it to', async () => {
    const waits: number[] = [];
    const busy = new Response('', { status: 429, headers: { 'retry-after': '3' } });
    const abort = new AbortController();
    const { items } = start([busy], {
      signal: abort.signal,
      onDisconnect: (_error, retryInMs) => {
        waits.push(retryInMs);
        queueMicrotask(() => {
          abort.abort();
        });
      },
    });
    await expect(all(items)).rejects.toThrow();
    expect(waits).toEqual([3000]);
  });

  it('asks for the types that it is to have, sees no hole where they are apart, and goes on from a ping', async () => {
    const { items, requests } = start(
      [
        new ScriptedStream().event(0).event(4).send('ping', { at: '' }, '9').close(),
        new ScriptedStream().event(12).send('end', ENDED).close(),
      ],
      { types: ['turn/start', 'turn/end'] },
    );
    expect(names(await all(items))).toEqual(['e0', 'e4', 'e12', 'end']);
    expect(requests[0]?.url.search).toBe('?types=turn%2Fstart%2Cturn%2Fend');
    expect(requests[1]?.headers.get('last-event-id')).toBe('9');
  });

  it('takes frames whose numbers come again after all attempts had settled', async () => {
    // A machine that lost its power has lost the frames 8 and 9, and gives their numbers to others.
    const { items, requests } = start([
      new ScriptedStream().event(0).frame(0, 8).frame(0, 9).event(1).close(),
      new ScriptedStream().frame(1, 8).event(2).send('end', ENDED).close(),
    ]);
    expect(names(await all(items))).toEqual(['e0', 'f8', 'f9', 'e1', 'f8', 'e2', 'end']);
    expect(requests[1]?.headers.get('last-event-id')).toBe('1');
  });

  it('is not kept by comments on a connection that is dead', async () => {
    const silent = new ScriptedStream().event(0);
    const comments = setInterval(() => silent.raw(new TextEncoder().encode(': still\n\n')), 5);
    const { items } = start([silent, new ScriptedStream().send('end', ENDED).close()], {
      timing: { ...TIMING, silenceMs: 40 },
      onDisconnect: () => {
        clearInterval(comments);
      },
    });
    expect(names(await all(items))).toEqual(['e0', 'end']);
    expect(silent.isCancelled).toBe(true);
  });

  it('waits for a long message that comes slowly', async () => {
    const slow = new ScriptedStream().raw(new TextEncoder().encode('event: end\ndata: {"turn":null'));
    let parts = 0;
    const more = setInterval(() => {
      parts += 1;
      if (parts < 10) slow.raw(new TextEncoder().encode('                '));
      else slow.raw(new TextEncoder().encode('}\n\n'));
      if (parts === 10) clearInterval(more);
    }, 60);
    const { items, requests } = start([slow], { timing: { ...TIMING, silenceMs: 400 } });
    expect(await all(items)).toEqual([{ type: 'end', turn: null }]);
    expect(requests).toHaveLength(1);
  });

  it.each([
    [404, 'NOT_FOUND'],
    [400, 'INVALID_CURSOR'],
    [401, 'UNAUTHENTICATED'],
  ])('gives up where it would be refused again: %i', async (status, code) => {
    const { items } = start([problem(status, code)], { after: 'x' });
    await expect(all(items)).rejects.toMatchObject({ name: 'ApiError', code, status });
  });

  it('takes a connection on which nothing comes for dead', async () => {
    const silent = new ScriptedStream().event(0);
    const { items } = start([silent, new ScriptedStream().send('end', ENDED).close()], {
      timing: { ...TIMING, silenceMs: 20 },
    });
    expect(names(await all(items))).toEqual(['e0', 'end']);
    expect(silent.isCancelled).toBe(true);
  });

  it('stays with the turn that was open when it began', async () => {
    const { items, requests } = start(
      [
        new ScriptedStream().send('state', { status: 'running', turn: 3 }).close(),
        new ScriptedStream().send('state', { status: 'running', turn: 4 }).send('end', ENDED).close(),
      ],
      { until: 'turn-end' },
    );
    await all(items);
    expect(requests.map(({ url }) => url.searchParams.get('turn'))).toEqual([null, '3']);
  });

  it('gives up the frame of its cursor where the server has lost its frames', async () => {
    const { items, requests } = start([
      new ScriptedStream().event(0).frame(0, 9).close(),
      problem(400, 'INVALID_CURSOR'),
      new ScriptedStream().event(1).frame(1, 1).send('end', ENDED).close(),
    ]);
    expect(names(await all(items))).toEqual(['e0', 'f9', 'e1', 'f1', 'end']);
    expect(requests.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '0+9', '0']);
  });

  it('ends with the reason of its signal, also while it waits to try again', async () => {
    const reason = new Error('enough');
    const abort = new AbortController();
    const stream = new ScriptedStream().event(0);
    const { items } = start([stream], { signal: abort.signal });
    const reading = (async () => {
      for await (const item of items) if (item.type === 'event') abort.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
    expect(stream.isCancelled).toBe(true);

    const waiting = new AbortController();
    const { items: others } = start([new TypeError('fetch failed')], {
      signal: waiting.signal,
      timing: { ...TIMING, firstBackoffMs: 60_000, maxBackoffMs: 60_000 },
      onDisconnect: () => {
        queueMicrotask(() => {
          waiting.abort(reason);
        });
      },
    });
    await expect(all(others)).rejects.toBe(reason);
  });

  it('closes its connection when the caller leaves', async () => {
    const stream = new ScriptedStream().event(0).event(1);
    const { items } = start([stream]);
    for await (const item of items) if (item.type === 'event') break;
    expect(stream.isCancelled).toBe(true);
  });

  it('reads characters and messages that are split anywhere', async () => {
    const whole = new TextEncoder().encode(
      `\ufeffid: 0\r\nevent: event\r\ndata: {"seq":0,"type":"session/title","data":{"title":"zä€😀"}}\r\n\r\nid: 0\nevent: end\ndata: {"turn":null}\n\n`,
    );
    const stream = new ScriptedStream();
    for (const byte of whole) stream.raw(Uint8Array.of(byte));
    const { items } = start([stream.close()]);
    const [first] = await all(items);
    expect(first).toMatchObject({ event: { data: { title: 'zä€😀' } } });
  });
});
