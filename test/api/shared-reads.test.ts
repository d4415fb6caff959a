/** Followers share what is read for them; one that is slow costs neither them nor memory. */
import { afterEach, describe, expect, it } from 'vitest';
import { call, newSession, startApi, withMethods, type ApiServer } from './api-server.js';
import { StalledReader } from './stalled-reader.js';
import { StreamReader } from './stream-reader.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
const open: { close(): void }[] = [];
afterEach(async () => {
  for (const reader of open.splice(0)) reader.close();
  await api.stop();
});

const session = async () => {
  const counts = { tails: 0, states: 0 };
  api = await startApi({
    wrapStore: (store) =>
      withMethods(store, {
        readTail: (uid, cursor) => {
          counts.tails += 1;
          return store.readTail(uid, cursor);
        },
        readState: (uid) => {
          counts.states += 1;
          return store.readState(uid);
        },
      }),
  });
  await newSession(api, { id: 's' });
  await call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text: 'a' });
  const driver = new TurnDriver(api.store, await api.uidOf('s'));
  await driver.enter();
  await driver.attempt();
  return { counts, driver, url: `${api.url}/v1/sessions/s/events` };
};

const follow = async (url: string) => {
  const reader = await StreamReader.open(url);
  open.push(reader);
  return reader;
};

describe('200 followers of one session', () => {
  it('get each frame and event from one read', async () => {
    const { counts, driver, url } = await session();
    const readers = await Promise.all(Array.from({ length: 200 }, () => follow(url)));
    await driver.stream('warm');
    await Promise.all(readers.map((reader) => reader.until(({ frames }) => frames.length === 1)));

    counts.tails = 0;
    counts.states = 0;
    for (let n = 0; n < 20; n += 1) await driver.stream(`text ${String(n)}`);
    await driver.message('all');
    await driver.end();
    await Promise.all(
      readers.map((reader) => reader.until(({ events }) => events.at(-1)?.type === 'turn/end')),
    );
    // 20 frames and 2 commits of events.
    expect(counts.tails).toBeLessThanOrEqual(22);
    expect(counts.states).toBeLessThanOrEqual(4);
    const [first] = readers;
    for (const reader of readers) {
      expect(reader.items).toEqual(first!.items);
      expect(reader.frames).toHaveLength(21);
    }
  });
});

describe('a follower that does not read', () => {
  it('holds up nobody, and gets everything once and in order when it reads again', async () => {
    const { driver, url } = await session();
    const slow = await StalledReader.open(url, 'event: event');
    open.push(slow);
    const quick = await follow(url);
    const text = 'x'.repeat(30_000);
    const count = 300;
    for (let n = 0; n < count; n += 1) await driver.stream(`${String(n)} ${text}`);
    await quick.until(({ frames }) => frames.length === count);

    // Nearly 9 MB were sent, and the socket of the stalled one has taken a part of them only.
    slow.socket.resume();
    await driver.message('all');
    await driver.end();
    const { headSeq } = await api.store.readState(await api.uidOf('s'));
    const received = await slow.until(`event: event\ndata: {"sessionId":"s","seq":${String(headSeq)}`);
    const frames = [...received.matchAll(/"text":"(\d+) x/g)].map((match) => Number(match[1]));
    expect(frames).toEqual([...new Set(frames)].sort((a, b) => a - b));
    const seqs = [...received.matchAll(/"seq":(\d+)/g)].map((match) => Number(match[1]));
    expect(seqs).toEqual(Array.from({ length: headSeq + 1 }, (_, n) => n));
  });
});
