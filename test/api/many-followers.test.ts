/** Many followers of one turn: those that come and go all the time, and those that do not read. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.js';
import type { FollowItem } from '../../src/client/follow.js';
import { createTranscript, foldTranscript, type Transcript } from '../../src/client/render.js';
import type { MessageId } from '../../src/contract/ids.js';
import { seededRandom } from '../unit/model/seeded-random.js';
import { withMethods } from './api-server.js';
import { FollowedSession, range } from './followed-session.js';
import { StalledReader } from './stalled-reader.js';

let session: FollowedSession;
afterEach(() => session.stop());

/** Looks again and again, a turn of the event loop each. */
async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A follower whose every connection is cut after 5 to 50 ms. */
class RestlessFollower {
  readonly items: FollowItem[] = [];
  readonly ended: Promise<void>;
  connections = 0;
  #transcript: Transcript = createTranscript();

  constructor(baseUrl: string, seed: number) {
    const random = seededRandom(seed);
    const client = createClient({
      baseUrl,
      fetch: async (input, init) => {
        this.connections += 1;
        const cut = new AbortController();
        const signal = init?.signal == null ? cut.signal : AbortSignal.any([init.signal, cut.signal]);
        const response = await fetch(input, { ...init, signal });
        setTimeout(
          () => {
            cut.abort();
          },
          5 + 45 * random(),
        );
        return response;
      },
    });
    const timing = { silenceMs: 10_000, firstBackoffMs: 1, maxBackoffMs: 2 };
    this.ended = (async () => {
      for await (const item of client.follow('s', { until: 'turn-end', turn: 1, timing })) {
        this.items.push(item);
        this.#transcript = foldTranscript(this.#transcript, item);
      }
    })();
  }

  /** What it shows of the model's message. */
  get text(): string {
    return this.#transcript.entries
      .flatMap((entry) => (entry.kind === 'assistant' ? entry.blocks : []))
      .map(({ text }) => text)
      .join('');
  }
}

describe('followers that reconnect every 5 to 50 ms', () => {
  it('each have exactly the log, each frame once, and from frames alone exactly the text', async () => {
    session = await FollowedSession.start();
    await session.prompt('a');
    const followers = range(1, 8).map((seed) => new RestlessFollower(session.api.url, seed));
    await session.driver.enter();
    await session.driver.attempt();
    await session.driver.stream('this is withdrawn');
    await session.driver.fail();
    await session.driver.attempt();
    let text = '';
    let frame = 0;
    for (let n = 0; n < 300; n += 1) {
      const word = `${String(n)} zä€😀 `;
      text += word;
      frame = await session.driver.stream(word);
      if (n % 10 !== 0) continue;
      // Spread over many of their connections.
      const before = followers.map(({ connections }) => connections);
      await eventually(() => followers.every(({ connections }, index) => connections > before[index]!));
    }
    // Nothing is stored of it yet: what they show they have from frames.
    await eventually(() => followers.every((follower) => follower.text === text));
    await session.driver.message(text);
    await session.driver.end({ kind: 'completed' }, text);
    await Promise.all(followers.map(({ ended }) => ended));

    const log = await session.api.store.readEvents(await session.api.uidOf('s'), { limit: 1000 });
    for (const { items, connections, text: shown } of followers) {
      expect(items.flatMap((item) => (item.type === 'event' ? [item.event] : []))).toEqual(log);
      const frames = items.flatMap((item) => (item.type === 'frame' ? [item.frame] : []));
      // Who was away meanwhile is not sent what was withdrawn.
      const ofSecond = frames.filter(({ attempt }) => attempt === 2).map((one) => one.frame);
      expect(ofSecond).toEqual(range(2, frame));
      expect(frames.length - ofSecond.length).toBeLessThanOrEqual(1);
      expect(shown).toBe(text);
      expect(connections).toBeGreaterThanOrEqual(30);
    }
  });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('followers that do not read', () => {
  it('have nothing kept for them, however much there is to be sent, and go on from their place', async () => {
    let reads = 0;
    session = await FollowedSession.start({
      wrapStore: (store) =>
        withMethods(store, {
          readTail: (uid, cursor) => {
            reads += cursor.limit > 0 ? 1 : 0;
            return store.readTail(uid, cursor);
          },
        }),
    });
    // 30 MB, where no socket takes more than a third of it and a page of the log is nearly half.
    const text = 'x'.repeat(60_000);
    for (let n = 0; n < 5; n += 1) {
      await session.driver.append(
        range(1, 100).map((index) => ({
          type: 'user/message' as const,
          surface: 'append' as const,
          data: {
            messageId: `${String(n)}-${String(index)}` as MessageId,
            content: [{ type: 'text' as const, text }],
            source: { kind: 'context' as const, form: 'notice' as const },
          },
        })),
      );
    }
    const head = await session.headSeq();
    const before = memoryInUse();
    const count = 6;
    const readers = await Promise.all(
      range(1, count).map(() => StalledReader.open(session.url, 'event: event')),
    );
    await eventually(() => reads >= count);
    // A socket's worth and a message each; a page each would be ten times that.
    await eventually(() => memoryInUse() - before < count * 2 * 1024 * 1024);

    const [reader] = readers;
    reader!.socket.resume();
    const received = await reader!.until(`"seq":${String(head)},`);
    const seqs = [...received.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
    expect(seqs).toEqual(range(0, head));
    for (const one of readers) one.close();
  });
});
