/** Sessions that leave a real store as files and come back into it: what is the same, what is closed, and how large. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import { deriveMessages } from '../../src/core/messages.js';
import { LogBuilder } from '../support/log-builder.js';
import { checkLog, checkMessages } from '../support/log-invariants.js';
import { randomLog } from '../support/random-log.js';
import { storeLog } from '../support/stored-log.js';
import { seededRandom } from '../unit/model/seeded-random.js';
import { plain, useArchive } from './archive-fixture.js';

const archive = useArchive();

// What is held is what is left after a collection; when the engine would collect by itself is its own affair.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A log in the middle of a turn: random up to a random place. */
function cutLog(seed: number): readonly SessionEvent[] {
  const { events } = randomLog(seededRandom(seed));
  return events.slice(0, 2 + Math.floor(seededRandom(seed + 1000)() * (events.length - 2)));
}

describe('a session that is exported and imported', () => {
  it('is the same again, event by event and message by message, and so is what is exported of it', async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const uid = await storeLog(
        archive.store,
        randomLog(seededRandom(seed)).events,
        `whole-${String(seed)}`,
      );
      const file = await archive.exported(uid);
      const copy = await archive.imported(file.join(''));
      expect(copy.repaired).toBeNull();
      const [before, after] = [await archive.eventsOf(uid), await archive.eventsOf(copy.uid)];
      expect(JSON.stringify(plain(after))).toBe(JSON.stringify(plain(before)));
      const messages = (events: readonly SessionEvent[]) => JSON.stringify(deriveMessages(events).messages);
      expect(messages(after)).toBe(messages(before));
      const again = await archive.exported(copy.uid);
      expect(again.length).toBe(file.length);
      const bodies = (lines: readonly string[]) =>
        lines.slice(1, -1).map((line) => {
          const { event, blob, key } = JSON.parse(line) as {
            event?: SessionEvent;
            blob?: string;
            key?: string;
          };
          return event === undefined ? blob : { event: plain([event]), key };
        });
      expect(bodies(again)).toEqual(bodies(file));
    }
  });

  it('has its open turn closed, says so, and goes on', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const log = cutLog(seed);
      const wasEntered = LogBuilder.from(log).state.openTurn?.started === true;
      const uid = await storeLog(archive.store, log, `open-${String(seed)}`);
      const { uid: copy, repaired } = await archive.imported((await archive.exported(uid)).join(''));
      const events = await archive.eventsOf(copy);
      expect(JSON.stringify(plain(events.slice(0, log.length)))).toBe(
        JSON.stringify(plain(await archive.eventsOf(uid))),
      );
      expect(repaired !== null).toBe(wasEntered);
      expect(events.at(-1)?.type === 'session/repaired').toBe(wasEntered);
      expect(checkLog(events), `seed ${String(seed)}`).toEqual([]);
      expect(checkMessages(deriveMessages(events).messages), `seed ${String(seed)}`).toEqual([]);
      expect((await archive.store.readState(copy)).openTurn?.started ?? false).toBe(false);
    }
  });

  it('has every blob, named by an event or not, and before the event that names it', async () => {
    const large = 'ü'.repeat(50_000);
    const log = new LogBuilder();
    log.prompt('queue', large);
    log.enter().message().end();
    const uid = await storeLog(archive.store, log.events, 'blobs');
    const unnamed = await archive.store.saveBlob(uid, new Uint8Array([0, 255, 10]), 'image/png');
    const file = await archive.exported(uid);
    const [prompt] = await archive.store.readEvents(uid, { after: 0, limit: 1 });
    const [block] = prompt?.type === 'agent/inbox/spliced' ? prompt.data.inserted![0]!.content : [];
    if (block?.type !== 'blob') throw new Error('The prompt was not moved.');
    const { sha256 } = block;
    const blobAt = file.findIndex((line) => line.startsWith(`{"blob":"${sha256}"`));
    const namedAt = file.findIndex((line) => line.startsWith('{"event"') && line.includes(sha256));
    expect(blobAt).toBeGreaterThan(0);
    expect(blobAt).toBeLessThan(namedAt);
    const copy = await archive.imported(file.join(''));
    expect(await archive.store.archive.blobs(copy.uid)).toEqual(await archive.store.archive.blobs(uid));
    expect(await archive.store.readBlob(copy.uid, unnamed)).toMatchObject({ mediaType: 'image/png' });
    expect(Buffer.from((await archive.store.readBlob(copy.uid, sha256))!.bytes).toString()).toBe(large);
  });

  it('is what the log was when the export began, whatever is appended meanwhile', async () => {
    const uid = await storeLog(archive.store, randomLog(seededRandom(3)).events, 'busy');
    const record = await archive.store.findSessionByUid(uid);
    let file = '';
    for await (const line of await archive.lines(uid)) {
      file += line;
      await archive.store.transact(uid, (transaction) =>
        transaction.append([{ type: 'session/title', data: { title: 'meanwhile', source: 'user' } }]),
      );
    }
    const copy = await archive.imported(file);
    expect((await archive.store.findSessionByUid(copy.uid))?.headSeq).toBe(record?.headSeq);
  });

  it('may be of any size: neither side holds more than a page and a blob', async () => {
    const blobs = 100;
    const uid = await storeLog(archive.store, new LogBuilder().events, 'large');
    for (let n = 0; n < blobs; n++) {
      await archive.store.saveBlob(uid, Buffer.alloc(1024 * 1024, n), 'application/octet-stream');
    }
    const held = () => {
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const before = held();
    let bytes = 0;
    let most = 0;
    const lines = await archive.lines(uid);
    async function* file() {
      for await (const line of lines) {
        bytes += line.length;
        most = Math.max(most, held() - before);
        yield Buffer.from(line);
      }
    }
    const copy = (await archive.imported(file())).uid;
    expect(await archive.store.archive.blobs(copy)).toHaveLength(blobs + 1);
    expect(bytes).toBeGreaterThan(blobs * 1024 * 1024);
    expect(most).toBeLessThan(20 * 1024 * 1024);
  }, 60_000);
});
