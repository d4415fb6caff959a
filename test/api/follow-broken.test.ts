/** The client's follow over connections that are cut, dead, or less than what the server has sent. */
import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.js';
import type { FollowItem, FollowOptions } from '../../src/client/follow.js';
import type { FollowTiming } from '../../src/client/reconnect.js';
import { createTranscript, foldTranscript } from '../../src/client/render.js';
import { TcpProxy, type Passage } from '../support/tcp-proxy.js';
import { seededRandom } from '../unit/model/seeded-random.js';
import { FollowedSession } from './followed-session.js';

const PING_MS = 20;
const TIMING: FollowTiming = { silenceMs: 200, firstBackoffMs: 1, maxBackoffMs: 4 };

let session: FollowedSession;
const proxies: TcpProxy[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
  await session.stop();
});

async function behind(passage: Passage): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(session.api.url, passage);
  proxies.push(proxy);
  return proxy;
}

const follow = (url: string, options: FollowOptions) =>
  createClient({ baseUrl: url }).follow('s', { timing: TIMING, ...options });

/** What a follower got, `state` left out: it is told again after each break. */
async function collect(items: AsyncIterable<FollowItem>, isLast: (item: FollowItem) => boolean) {
  const seen: FollowItem[] = [];
  for await (const item of items) {
    if (item.type !== 'state') seen.push(item);
    if (isLast(item)) break;
  }
  return seen;
}

/** A turn whose first attempts fail, with text that bytes can split. */
async function driveTurn(steps: number): Promise<void> {
  const { driver } = session;
  await driver.enter();
  for (let step = 0; step < steps; step += 1) {
    await driver.attempt();
    await driver.stream('wr', 'öng');
    await driver.fail();
    await driver.attempt();
    await driver.stream('zä', '€', '😀');
    await driver.message('zä€😀', ['read']);
    await driver.startCall(0, 'read');
    await driver.output(0, 0, 'out');
    await driver.result(0, 'out');
    await driver.nextStep();
    // So that what follows is sent, and lost, in the middle of the turn.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await driver.attempt();
  await driver.message('end');
  await driver.end({ kind: 'completed' }, 'end');
}

/** Checks that a follower which saw the turn's end has the whole log, each frame once and in order, and the right text. */
async function expectWhole(items: readonly FollowItem[]): Promise<void> {
  const log = await session.api.store.readEvents(await session.api.uidOf('s'), { limit: 1000 });
  expect(items.flatMap((item) => (item.type === 'event' ? [item.event] : []))).toEqual(log);
  const frames = items.flatMap((item) => (item.type === 'frame' ? [item.frame.frame] : []));
  expect(frames).toEqual([...new Set(frames)].sort((a, b) => a - b));
  const shown = (all: readonly FollowItem[]) =>
    JSON.stringify(all.reduce(foldTranscript, createTranscript()).entries, (key, value: unknown) =>
      // How often a call was tried, and how many chunks have come, is no part of what is shown.
      key === 'attempt' || key === 'chunks' ? undefined : value,
    );
  expect(shown(items)).toBe(shown(log.map((event) => ({ type: 'event', id: '', event }))));
  expect(items.at(-1)).toMatchObject({ type: 'end', turn: { turn: 1, output: 'end' } });
}

/** What the server answers after a cursor while nothing new comes: asked once, and given again as often as it is wanted. */
class RecordedAnswers {
  readonly #answers = new Map<string, Promise<Uint8Array>>();

  constructor(
    private readonly url: string,
    private readonly lastText: string,
  ) {}

  get cursors(): string[] {
    return [...this.#answers.keys()];
  }

  async after(cursor: string): Promise<Uint8Array> {
    const known = this.#answers.get(cursor) ?? this.#record(cursor);
    this.#answers.set(cursor, known);
    return known;
  }

  async #record(cursor: string): Promise<Uint8Array> {
    const response = await fetch(this.url, {
      headers: { accept: 'text/event-stream', 'last-event-id': cursor },
    });
    let bytes = Buffer.alloc(0);
    for await (const part of response.body as ReadableStream<Uint8Array>) {
      bytes = Buffer.concat([bytes, part]);
      if (bytes.includes(this.lastText) && bytes.subarray(-2).toString() === '\n\n') break;
    }
    return bytes;
  }
}

function endingStream(bytes: Uint8Array, manner: 'closed' | 'broken'): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream({
    pull: (controller) => {
      if (!isSent && bytes.length > 0) controller.enqueue(bytes);
      else if (manner === 'closed') controller.close();
      else controller.error(new TypeError('terminated'));
      isSent = true;
    },
  });
}

const isEnd = ({ type }: FollowItem) => type === 'end';

describe('a follow whose connection ends', () => {
  it.each(['closed', 'broken'] as const)(
    'after any byte, %s, has everything once and in order',
    async (manner) => {
      session = await FollowedSession.start();
      await session.prompt('a');
      await session.driver.enter();
      await session.driver.attempt();
      const last = await session.driver.stream('zä', '€', '😀');
      const after = String((await session.headSeq()) - 1);
      const answers = new RecordedAnswers(session.url, `"frame":${String(last)},`);
      let cutAt = Infinity;
      const items = async () => {
        let isFirst = true;
        const client = createClient({
          baseUrl: session.api.url,
          fetch: async (_url, init) => {
            const bytes = await answers.after(new Headers(init?.headers).get('last-event-id') ?? '');
            const upTo = isFirst ? cutAt : bytes.length;
            isFirst = false;
            return new Response(endingStream(bytes.subarray(0, upTo), manner));
          },
        });
        return collect(
          client.follow('s', { after, timing: { ...TIMING, firstBackoffMs: 0, maxBackoffMs: 0 } }),
          (item) => item.type === 'frame' && item.frame.frame === last,
        );
      };
      const wanted = await items();
      expect(wanted.map(({ type }) => type)).toEqual(['event', 'frame', 'frame', 'frame']);
      const whole = await answers.after(after);
      for (cutAt = 0; cutAt < whole.length; cutAt += 1) {
        expect(await items(), `cut after ${String(cutAt)} bytes`).toEqual(wanted);
      }
      // At the places between messages, and nowhere else.
      expect(answers.cursors).toHaveLength(4);
    },
  );
});

describe('a follow through a proxy', () => {
  it('that cuts at random has everything once and in order', async () => {
    session = await FollowedSession.start();
    await session.prompt('a');
    const random = seededRandom(7);
    const left = new Map<number, number>();
    const proxy = await behind((bytes, { number, cut }) => {
      // More than the headers and one event, so that each connection gets something done.
      const before = left.get(number) ?? 4000 + Math.floor(random() * 4000);
      left.set(number, before - bytes.length);
      if (before > bytes.length) return bytes;
      cut();
      return before <= 0 ? null : bytes.subarray(0, before);
    });
    const following = collect(follow(proxy.url, { until: 'turn-end' }), isEnd);
    await driveTurn(10);
    await expectWhole(await following);
    expect(proxy.connections).toBeGreaterThan(3);
  });

  it('that swallows pings comes back again and again, and misses nothing', async () => {
    session = await FollowedSession.start({ settings: { pingIntervalMs: PING_MS } });
    await session.prompt('a');
    const proxy = await behind((bytes) => {
      const text = bytes.toString('latin1').replace(/[0-9a-f]+\r\nevent: ping\n[^\n]*\n\n\r\n/g, '');
      return text === '' ? null : Buffer.from(text, 'latin1');
    });
    const following = collect(follow(proxy.url, { until: 'turn-end' }), isEnd);
    // Silence long enough for two connections to be given up.
    while (proxy.connections < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await driveTurn(3);
    await expectWhole(await following);
  });

  it('that goes dead without a word is left for a new connection', async () => {
    session = await FollowedSession.start({ settings: { pingIntervalMs: PING_MS } });
    await session.prompt('a');
    const random = seededRandom(3);
    const left = new Map<number, number>();
    const proxy = await behind((bytes, { number }) => {
      const before = left.get(number) ?? 4000 + Math.floor(random() * 9000);
      left.set(number, before - bytes.length);
      return before <= 0 ? null : bytes.subarray(0, before);
    });
    const breaks: unknown[] = [];
    const following = collect(
      follow(proxy.url, { until: 'turn-end', onDisconnect: (error) => breaks.push(error) }),
      isEnd,
    );
    await driveTurn(10);
    await expectWhole(await following);
    expect(breaks.length).toBeGreaterThan(0);
    expect(breaks.every((error) => /^Nothing came for 200 ms/.test((error as Error).message))).toBe(true);
  });

  it('that speaks for a server which is gone is not believed', async () => {
    session = await FollowedSession.start({ settings: { pingIntervalMs: PING_MS } });
    await session.prompt('a');
    let isDead = false;
    const comments = new Map<number, NodeJS.Timeout>();
    const proxy = await behind((bytes, { number, inject }) => {
      if (number > 0 || !isDead) return bytes;
      if (!comments.has(number)) {
        comments.set(
          number,
          setInterval(() => {
            inject('8\r\n: still\n\r\n');
          }, 10),
        );
      }
      return null;
    });
    const items: FollowItem[] = [];
    const following = collect(follow(proxy.url, { until: 'turn-end' }), (item) => {
      items.push(item);
      return item.type === 'end';
    });
    while (items.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    isDead = true;
    await driveTurn(2);
    try {
      await expectWhole(await following);
    } finally {
      for (const timer of comments.values()) clearInterval(timer);
    }
    expect(proxy.connections).toBeGreaterThan(1);
  });
});

describe('a follow of a server that restarts', () => {
  it('goes on where it was, however often and for however long it is away', async () => {
    session = await FollowedSession.start();
    await session.prompt('a');
    const breaks: unknown[] = [];
    const following = collect(
      follow(session.api.url, { until: 'turn-end', onDisconnect: (error) => breaks.push(error) }),
      isEnd,
    );
    const over = new AbortController();
    const restarting = (async () => {
      while (!over.signal.aborted) {
        const listenAgain = await session.api.shutDown();
        await new Promise((resolve) => setTimeout(resolve, 5));
        await listenAgain();
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    })();
    await driveTurn(30);
    over.abort();
    await restarting;
    await expectWhole(await following);
    expect(breaks.length).toBeGreaterThan(1);
  });
});
