import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createToolFixture, textOf, type ToolFixture } from './tool-fixture.js';

let fixture: ToolFixture;
beforeEach(async () => {
  fixture = await createToolFixture();
});
afterEach(() => fixture.remove());

async function read(content: string | Uint8Array, args: object = {}): Promise<string> {
  await writeFile(fixture.path('a.txt'), content);
  return textOf(await fixture.run('read', { file_path: 'a.txt', ...args }));
}
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => `line ${String(index + 1)}\n`).join('');

describe('what read shows', () => {
  it('is the lines with their numbers, and how much it was', async () => {
    expect(await read('one\ntwo\n')).toBe('1\tone\n2\ttwo\n[all of the file: 2 lines]');
  });

  it('is the same without a line end at the end of the file', async () => {
    expect(await read('one')).toBe('1\tone\n[all of the file: 1 line]');
  });

  it('is at most 2000 lines, with the offset to go on from', async () => {
    const text = await read(numbered(2001));
    expect(text.endsWith('2000\tline 2000\n[lines 1 to 2000 of 2001; go on with offset 2001]')).toBe(true);
  });

  it('is what offset and limit name', async () => {
    expect(await read(numbered(5), { offset: 3, limit: 1 })).toBe(
      '3\tline 3\n[lines 3 to 3 of 5; go on with offset 4]',
    );
    expect(await read(numbered(5), { offset: 4 })).toBe('4\tline 4\n5\tline 5\n[lines 4 to 5 of 5, its end]');
  });

  it('is a word about an empty file, and about an offset after the end', async () => {
    expect(await read('')).toBe('[the file is empty]');
    expect(await read('one\n', { offset: 7 })).toBe('[there is no line 7: the file has 1 line]');
  });

  it('is at most 50 KiB, in whole lines, and goes on without a gap', async () => {
    const content = numbered(1).repeat(500).replaceAll('line 1', 'x'.repeat(199));
    const first = await read(content);
    expect(Buffer.byteLength(first)).toBeLessThanOrEqual(50 * 1024);
    const next = Number(/go on with offset (\d+)\]$/.exec(first)?.[1]);
    expect(first).toContain(`\n${String(next - 1)}\t`);
    expect(await read(content, { offset: next, limit: 1 })).toContain(`${String(next)}\txxx`);
  });

  it('has lines of at most 2000 characters, and no half of a pair', async () => {
    const text = await read(`${'é'.repeat(1999)}😀 tail\n${'漢'.repeat(2000)}\n`);
    const [first, second] = text.split('\n');
    expect(first).toBe(`1\t${'é'.repeat(1999)}… [line cut at 2000 characters]`);
    expect(second).toBe(`2\t${'漢'.repeat(2000)}`);
  });

  it('goes past huge lines', async () => {
    const text = await read(`${'x'.repeat(3_000_000)}\nend\n`);
    expect(text).toHaveLength(
      2000 + '1\t… [line cut at 2000 characters]\n2\tend\n[all of the file: 2 lines]'.length,
    );
  });

  it('leaves out a byte order mark and carriage returns', async () => {
    expect(await read('\ufeffone\r\ntwo\r\n')).toBe('1\tone\n2\ttwo\n[all of the file: 2 lines]');
  });

  it('keeps characters whole that fall between two chunks of the file', async () => {
    const text = await read('漢'.repeat(30_000).replaceAll(/.{500}/g, '$&\n'), { offset: 40 });
    expect(text).not.toContain('\ufffd');
  });
});

describe('read', () => {
  it('remembers the version of what it saw', async () => {
    await read('one\n');
    expect([...fixture.observed.keys()]).toEqual([fixture.path('a.txt')]);
  });

  it('refuses what is no text by its type', async () => {
    expect(await read(Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1'))).toBe(
      'Error: a.txt is not text (image/png), so read cannot show it.',
    );
    expect(await read(Buffer.from([1, 0, 2]))).toContain('application/octet-stream');
  });

  it.each([{ offset: 0 }, { limit: 0 }, { offset: 1.5 }, { limit: '5' }])('refuses %j', async (args) => {
    expect(await read('one\n', args)).toContain('The arguments of read are invalid');
  });

  it('says so where there is no such blob', async () => {
    for (const file_path of [`blob:${'0'.repeat(64)}`, 'blob:../../a.txt']) {
      expect((await fixture.run('read', { file_path })).error?.code).toBe('FS_NOT_FOUND');
    }
  });
});
