/** Files of sessions that were cut, damaged or forged: refused with the line, or opened up to where they are whole. */
import { beforeEach, describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { SessionEvent } from '../../src/contract/events.js';
import type { SessionUid } from '../../src/contract/ids.js';
import { ArchiveDamage } from '../../src/store/archive/archive-damage.js';
import { LineReader, LineWriter, linesOf } from '../../src/store/archive/checked-lines.js';
import { checkLog } from '../support/log-invariants.js';
import { randomLog } from '../support/random-log.js';
import { storeLog } from '../support/stored-log.js';
import { seededRandom } from '../unit/model/seeded-random.js';
import { plain, useArchive, type Imported } from './archive-fixture.js';

const archive = useArchive();

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array, void, void> {
  await Promise.resolve();
  yield bytes;
}

describe('a file that is not whole', () => {
  let whole: readonly SessionEvent[];
  let uid: SessionUid;
  let lines: string[];
  let file: Buffer;
  beforeEach(async () => {
    uid = await storeLog(archive.store, randomLog(seededRandom(5), 2).events, 'whole');
    whole = await archive.eventsOf(uid);
    lines = await archive.exported(uid);
    file = Buffer.from(lines.join(''));
  });

  async function refused(bytes: Uint8Array): Promise<ArchiveDamage> {
    const error: unknown = await archive.imported(bytes).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ArchiveDamage);
    return error as ArchiveDamage;
  }

  /** Opened with a repair: the events up to some place as they were, the turn closed, and it is said how many are lost. */
  async function opened(bytes: Uint8Array): Promise<number | null> {
    let copy: Imported;
    try {
      copy = await archive.imported(bytes, { repairs: true });
    } catch (error) {
      expect(error).toBeInstanceOf(ArchiveDamage);
      return null;
    }
    const events = await archive.eventsOf(copy.uid);
    expect(checkLog(events)).toEqual([]);
    const last = events.at(-1);
    expect(last).toMatchObject({ type: 'session/repaired', data: copy.repaired });
    const kept = whole.length - (copy.repaired?.lost ?? NaN);
    expect(JSON.stringify(plain(events.slice(0, kept)))).toBe(JSON.stringify(plain(whole.slice(0, kept))));
    return kept;
  }

  it('is refused wherever a line is missing at its end, and is opened up to there', async () => {
    const keptAt: number[] = [];
    for (let count = 0; count < lines.length; count++) {
      const cut = Buffer.from(lines.slice(0, count).join(''));
      const { line, reason } = await refused(cut);
      expect([line, reason]).toEqual([count + 1, 'is missing: the file was cut before it']);
      keptAt.push((await opened(cut)) ?? 0);
    }
    expect(keptAt[0]).toBe(0);
    expect(keptAt.at(-1)).toBe(whole.length);
    for (const [n, kept] of keptAt.entries()) expect(kept).toBeGreaterThanOrEqual(keptAt[n - 1] ?? 0);
    expect(new Set(keptAt).size).toBe(whole.length + 1);
  }, 60_000);

  it('is refused wherever it is cut in a line, also right before its last byte', async () => {
    const random = seededRandom(7);
    const places = Array.from({ length: 60 }, () => Math.floor(random() * file.byteLength));
    for (const end of [...places, 1, file.byteLength - 1]) {
      const cut = file.subarray(0, end);
      const { line } = await refused(cut);
      expect(line).toBe(cut.toString('latin1').split('\n').length);
      await opened(cut);
    }
    expect(await opened(file.subarray(0, -1))).toBe(whole.length);
  }, 60_000);

  it('is refused for one flipped bit, in the line in which it is', async () => {
    const random = seededRandom(11);
    for (let n = 0; n < 120; n++) {
      const at = Math.floor(random() * file.byteLength);
      const damaged = Buffer.from(file);
      damaged[at] = damaged[at]! ^ (1 << Math.floor(random() * 8));
      const { line } = await refused(damaged);
      const ofTheByte = file.subarray(0, at).toString('latin1').split('\n').length;
      // A line feed that is flipped makes one line of two; one that appears makes two of one.
      expect(line, `byte ${String(at)}`).toBe(ofTheByte);
      await opened(damaged);
    }
  }, 90_000);

  it('is read up to the damaged line, whichever byte is flipped or is the first that is missing', async () => {
    /** How many lines are whole one after the other. */
    const wholeLines = async (bytes: Buffer): Promise<number> => {
      const reader = new LineReader();
      let count = 0;
      for await (const line of linesOf(chunksOf(bytes), Infinity)) {
        if (!line.isWhole || reader.read(line.bytes) === undefined) break;
        count += 1;
      }
      return count;
    };
    expect(await wholeLines(file)).toBe(lines.length);
    // The check of a line is over all lines before it, and the same in each.
    const beginning = lines.slice(0, 10);
    const bytes = Buffer.from(beginning.join(''));
    const lineOf = beginning.flatMap((line, n) => Array.from(Buffer.from(line), () => n));
    for (const [at, line] of lineOf.entries()) {
      expect(await wholeLines(bytes.subarray(0, at)), `cut at ${String(at)}`).toBe(line);
      const flipped = Buffer.from(bytes);
      flipped[at] = flipped[at]! ^ (1 << (at % 8));
      expect(await wholeLines(flipped), `byte ${String(at)}`).toBe(line);
    }
  }, 60_000);

  it('is refused where lines are missing, doubled, swapped, or of another file', async () => {
    const other = await archive.exported(
      await storeLog(archive.store, randomLog(seededRandom(6), 2).events, 'other'),
    );
    const [header, ...rest] = lines;
    for (const changed of [
      [header, ...rest.slice(1)],
      [header, rest[0], ...rest],
      [header, rest[1], rest[0], ...rest.slice(2)],
      [...lines, lines.at(-1)],
      [...lines, '\n'],
      [header, ...other.slice(1)],
      [...lines, ...other],
    ]) {
      await refused(Buffer.from(changed.join('')));
    }
    expect((await archive.store.listSessions({ tenant: 'tenant', limit: 10 })).length).toBe(2);
  });

  it('leaves nothing behind where it is refused', async () => {
    await refused(file.subarray(0, -40));
    await refused(Buffer.from(lines.slice(0, -3).join('')));
    expect((await archive.store.listSessions({ tenant: 'tenant', limit: 10 })).length).toBe(1);
    expect(archive.rowsBeside([uid])).toEqual([]);
    expect(archive.sqlite.sql('select * from leftovers')).toEqual([]);
  });

  it('that is none of these files at all is told so', async () => {
    for (const nonsense of [
      '',
      'hello\n',
      '{"a":1}\n',
      JSON.stringify(whole[0]) + '\n',
      '\n'.repeat(5),
      '\0'.repeat(500),
    ]) {
      expect((await refused(Buffer.from(nonsense))).line).toBe(1);
    }
    expect((await refused(Buffer.from(`${JSON.stringify(whole[0])}\n`))).message).toContain(
      'export SESSION --with-blobs',
    );
  });
});

describe('a file that somebody has written', () => {
  /** Lines with checks that fit, whatever they say. */
  async function forged(change: (entries: Record<string, unknown>[]) => void): Promise<unknown> {
    const uid = await storeLog(archive.store, randomLog(seededRandom(5), 1).events, uuidv7());
    const entries = (await archive.exported(uid)).map((line) => {
      const entry = JSON.parse(line) as Record<string, unknown>;
      delete entry.check;
      return entry;
    });
    change(entries);
    const writer = new LineWriter();
    const text = entries
      .map((entry) => writer.line(entry.end === true ? { ...entry, sha256: writer.sha256 } : entry))
      .join('');
    return archive.imported(text).then(
      () => 'imported',
      (error: unknown) => (error instanceof ArchiveDamage ? error.message : error),
    );
  }
  type Forged = Record<
    string,
    { seq: number; type: string; data: Record<string, unknown>; sessionId: string }
  >;
  const eventAt = (entries: Record<string, unknown>[], n: number) =>
    (entries.filter((entry) => 'event' in entry) as Forged[])[n]!.event!;

  it('is taken where it says nothing wrong', async () => {
    expect(await forged(() => undefined)).toBe('imported');
  });

  it.each<[string, (entries: Record<string, unknown>[]) => void, string]>([
    ['a version of tomorrow', ([header]) => (header!.version = 2), 'names version 2'],
    [
      'an event that the catalogue does not allow',
      (entries) => (eventAt(entries, 1).data = { target: 'nowhere' }),
      'is not as it should be',
    ],
    [
      'an unknown event',
      (entries) => (eventAt(entries, 2).type = 'new/fact'),
      '"new/fact", which this version does not know',
    ],
    ['a gap in the log', (entries) => (eventAt(entries, 3).seq = 9), 'event 9 where 3 should stand'],
    [
      'a log without its beginning',
      (entries) => (eventAt(entries, 0).type = 'session/title'),
      'session/created',
    ],
    [
      'an event of another session',
      (entries) => (eventAt(entries, 2).sessionId = 'other'),
      'another session',
    ],
    [
      'a blob with another digest',
      (entries) => (entries.find((entry) => 'blob' in entry)!.base64 = 'AAAA'),
      'does not fit its digest',
    ],
    [
      'a blob that is not there',
      (entries) =>
        void entries.splice(
          entries.findIndex((entry) => 'blob' in entry),
          1,
        ),
      'needs the blob',
    ],
    ['a count that is wrong', (entries) => (entries.at(-1)!.events = 3), 'some are missing'],
    [
      'a key twice',
      (entries) => {
        for (const entry of entries.filter((each) => 'event' in each).slice(1, 3)) entry.key = 'twice';
      },
      'a key that stands in the log already',
    ],
    ['an unknown line', (entries) => void entries.splice(2, 0, { secret: true }), 'is not as it should be'],
  ])('is refused for %s', async (_what, change, message) => {
    expect(await forged(change)).toContain(message);
    const uids = (await archive.store.listSessions({ tenant: 'tenant', limit: 10 })).map(
      (record) => record.uid,
    );
    expect(archive.rowsBeside(uids)).toEqual([]);
  });

  it('keeps events that say themselves that they may be ignored', async () => {
    const outcome = await forged((entries) => {
      const event = eventAt(entries, 1);
      entries.splice(
        entries.findIndex((entry) => entry.event === event),
        0,
        {
          event: { ...event, type: 'later/fact', data: { ignorable: true } },
        },
      );
      for (const [seq, entry] of (entries.filter((each) => 'event' in each) as Forged[]).entries())
        entry.event!.seq = seq;
      for (const place of [entries[0]!, entries.at(-1)!]) place.events = Number(place.events) + 1;
    });
    expect(outcome).toBe('imported');
  });
});
