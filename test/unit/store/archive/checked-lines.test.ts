import { describe, expect, it } from 'vitest';
import {
  LineReader,
  linesOf,
  LineTooLong,
  LineWriter,
  type FileLine,
} from '../../../../src/store/archive/checked-lines.js';
import { randomPieces, seededRandom } from '../../model/seeded-random.js';

const VALUES = [
  { a: 1, text: 'ü€🧭', nothing: null },
  { text: 'a\nb\r\n\u2028 \ufeff lone \ud83d' },
  { check: 'mine', nested: { check: '0123456789abcdef' } },
  { text: 'x'.repeat(5000) },
];

function written(): string[] {
  const writer = new LineWriter();
  return VALUES.map((value) => writer.line(value));
}

async function* streamed(pieces: readonly Uint8Array[]) {
  yield* pieces;
}

async function collected(pieces: readonly Uint8Array[], limit = 10_000): Promise<FileLine[]> {
  const lines: FileLine[] = [];
  for await (const line of linesOf(streamed(pieces), limit)) lines.push(line);
  return lines;
}

describe('checked lines', () => {
  it('come back as they were, in whatever pieces they arrive', async () => {
    const file = Buffer.from(written().join(''));
    for (let seed = 1; seed <= 30; seed++) {
      const lines = await collected(randomPieces(file, seededRandom(seed), 200));
      expect(lines.every(({ isWhole }) => isWhole)).toBe(true);
      const reader = new LineReader();
      const values = lines.map(({ bytes }) => JSON.stringify(reader.read(bytes)));
      expect(values).toEqual(VALUES.map((value) => JSON.stringify(value)));
    }
  });

  it('are one JSON object each, for any program', () => {
    for (const line of written()) expect(JSON.parse(line)).toHaveProperty('check');
  });

  it('show a change of any byte, in their own line', () => {
    const [first = '', second = ''] = written();
    const bytes = Buffer.from(first.trimEnd());
    for (let at = 0; at < bytes.byteLength; at++) {
      for (const flip of [1, 0x20, 0x80]) {
        const damaged = Buffer.from(bytes);
        damaged[at] = damaged[at]! ^ flip;
        expect(new LineReader().read(damaged), `byte ${String(at)}`).toBeUndefined();
      }
    }
    expect(new LineReader().read(bytes)).toEqual(VALUES[0]);
    expect(new LineReader().read(Buffer.from(second.trimEnd()))).toBeUndefined();
  });

  it('tell the last one that was cut from one that is whole', async () => {
    const file = Buffer.from(written().join(''));
    const cut = await collected([file.subarray(0, -1)]);
    expect(cut.map(({ isWhole }) => isWhole)).toEqual([true, true, true, false]);
    expect(await collected([])).toEqual([]);
    expect(await collected([Buffer.from('\n\n')])).toHaveLength(2);
  });

  it('are read up to a limit of their length, without waiting for their end', async () => {
    const endless = Array.from({ length: 100 }, () => Buffer.alloc(100, 'x'));
    await expect(collected(endless, 1000)).rejects.toBeInstanceOf(LineTooLong);
    await expect(collected([Buffer.from(`${'x'.repeat(1001)}\n`)], 1000)).rejects.toBeInstanceOf(LineTooLong);
    expect(await collected([Buffer.from(`${'x'.repeat(1000)}\n`)], 1000)).toHaveLength(1);
  });
});
