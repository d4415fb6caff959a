import { chmod, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createToolFixture, textOf, type ToolFixture } from './tool-fixture.js';

let fixture: ToolFixture;
beforeEach(async () => {
  fixture = await createToolFixture();
});
afterEach(() => fixture.remove());

const onDisk = (name: string) => readFile(fixture.path(name), 'utf8');
const read = (name: string) => fixture.run('read', { file_path: name });
const write = (name: string, content: string) => fixture.run('write', { file_path: name, content });
const edit = (args: object) => fixture.run('edit', { file_path: 'a.txt', ...args });

/** Puts a file into the workspace and reads it, as a session does before it changes it. */
async function given(content: string | Uint8Array): Promise<void> {
  await writeFile(fixture.path('a.txt'), content);
  await read('a.txt');
}

describe('write', () => {
  it('creates a file with its folders', async () => {
    expect(textOf(await write('deep/er/a.txt', 'häy\n'))).toBe('Created deep/er/a.txt (5 bytes).');
    expect(await onDisk('deep/er/a.txt')).toBe('häy\n');
  });

  it('replaces a file that was read, keeps its mode and leaves nothing else behind', async () => {
    await writeFile(fixture.path('a.txt'), 'old\n');
    await chmod(fixture.path('a.txt'), 0o751);
    await read('a.txt');
    expect(textOf(await write('a.txt', 'new\n'))).toBe('Replaced a.txt (4 bytes).');
    expect(await onDisk('a.txt')).toBe('new\n');
    expect((await stat(fixture.path('a.txt'))).mode & 0o7777).toBe(0o751);
    expect(await readdir(fixture.workspace)).toEqual(['a.txt']);
  });

  it('does not replace a file that was never read', async () => {
    await writeFile(fixture.path('a.txt'), 'old\n');
    expect((await write('a.txt', 'new\n')).error?.code).toBe('FS_NOT_OBSERVED');
    expect(await onDisk('a.txt')).toBe('old\n');
  });

  it('does not replace a file that was changed since, not even with the same size and time', async () => {
    await given('old\n');
    const before = await stat(fixture.path('a.txt'));
    await rm(fixture.path('a.txt'));
    await writeFile(fixture.path('a.txt'), 'odd\n');
    await utimes(fixture.path('a.txt'), before.atime, before.mtime);
    expect((await write('a.txt', 'new\n')).error?.code).toBe('FS_STALE_VERSION');
    expect(await onDisk('a.txt')).toBe('odd\n');
  });

  it('may write again what it wrote itself', async () => {
    await write('a.txt', 'one\n');
    expect((await write('a.txt', 'two\n')).isError).toBe(false);
    expect((await edit({ old_string: 'two', new_string: 'three' })).isError).toBe(false);
    expect((await write('a.txt', 'four\n')).isError).toBe(false);
  });

  it('succeeds where it finds its own content, as a repeat after a lost attempt does', async () => {
    await writeFile(fixture.path('a.txt'), 'new\n');
    const outcome = await write('a.txt', 'new\n');
    expect(textOf(outcome)).toBe('a.txt has this content already.');
    expect((await write('a.txt', 'newer\n')).isError).toBe(false);
  });

  it('clears what a killed attempt of the same call left', async () => {
    const idempotencyKey = 'uid/1.1.0';
    const first = await fixture.run('write', { file_path: 'a.txt', content: 'x' }, { idempotencyKey });
    expect(first.isError).toBe(false);
    const { createHash } = await import('node:crypto');
    const digest = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 16);
    await writeFile(fixture.path(`.turnkeeper-${digest}.tmp`), 'half');
    await fixture.run('write', { file_path: 'a.txt', content: 'y' }, { idempotencyKey });
    expect(await readdir(fixture.workspace)).toEqual(['a.txt']);
  });

  it('says so where a part of the path is a file', async () => {
    await writeFile(fixture.path('a.txt'), '');
    expect(textOf(await write('a.txt/b/c.txt', 'new'))).toContain('is a file, not a folder');
  });

  it('says so where the name is too long', async () => {
    expect(textOf(await write('x'.repeat(300), 'new'))).toContain('too long');
  });
});

describe('the preview of a change', () => {
  const preview = (name: string, args: object) =>
    fixture.pipeline.previewCall(
      { callId: 'call_1', name, arguments: JSON.stringify({ file_path: 'a.txt', ...args }) },
      fixture.context(),
    );

  it('of an edit is its diff, and changes nothing', async () => {
    await given('one\ntwo\n');
    expect(await preview('edit', { old_string: 'two', new_string: 'three' })).toEqual({
      kind: 'diff',
      text: '--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three',
    });
    expect(await onDisk('a.txt')).toBe('one\ntwo\n');
  });

  it('of a write is what changes in the file that is there', async () => {
    await given('one\ntwo\n');
    expect(await preview('write', { content: 'one\nthree\n' })).toEqual({
      kind: 'diff',
      text: '--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three',
    });
    expect((await preview('write', { content: '' }))?.text).toMatch(/-one\n-two$/);
    expect(await preview('write', { content: 'one\ntwo\n' })).toEqual({
      kind: 'text',
      text: 'a.txt has this content already.',
    });
    expect(await onDisk('a.txt')).toBe('one\ntwo\n');
  });

  it('of a new file is all of it, and makes none', async () => {
    expect(await preview('write', { file_path: 'deep/b.txt', content: 'one\ntwo' })).toEqual({
      kind: 'diff',
      text: '--- /dev/null\n+++ deep/b.txt\n@@ -0,0 +1,2 @@\n+one\n+two',
    });
    expect(await readdir(fixture.workspace)).toEqual([]);
  });

  it('is left out where the change would fail, or there is no text', async () => {
    expect(await preview('edit', { old_string: 'two', new_string: 'three' })).toBeUndefined();
    await given('one\n');
    expect(await preview('edit', { old_string: 'two', new_string: 'three' })).toBeUndefined();
    expect(await preview('write', { file_path: '../out.txt', content: 'x' })).toBeUndefined();
    await given(Buffer.from([0x78, 0xe9, 0x0a]));
    expect(await preview('write', { content: 'x' })).toBeUndefined();
  });
});

describe('edit', () => {
  it('replaces one place literally and shows a diff', async () => {
    await given('one\ntwo\nthree\nfour\nfive\nsix\n');
    const outcome = await edit({ old_string: 'four', new_string: '$& $1' });
    expect(await onDisk('a.txt')).toBe('one\ntwo\nthree\n$& $1\nfive\nsix\n');
    expect(textOf(outcome)).toBe(
      'Edited a.txt, 1 replacement:\n@@ -1,6 +1,6 @@\n one\n two\n three\n-four\n+$& $1\n five\n six',
    );
  });

  it('takes no pattern for a pattern', async () => {
    await given('a.c abc\n');
    await edit({ old_string: 'a.c', new_string: 'x' });
    expect(await onDisk('a.txt')).toBe('x abc\n');
  });

  it('refuses more than one place and names their lines', async () => {
    await given('x\ny\nx\n');
    const outcome = await edit({ old_string: 'x', new_string: 'z' });
    expect(textOf(outcome)).toContain('occurs 2 times in a.txt (lines 1, 3)');
    expect(await onDisk('a.txt')).toBe('x\ny\nx\n');
  });

  it('replaces every place where it is told to', async () => {
    await given('x\ny\nx\n');
    expect(textOf(await edit({ old_string: 'x', new_string: 'xx', replace_all: true }))).toContain(
      '2 replacements',
    );
    expect(await onDisk('a.txt')).toBe('xx\ny\nxx\n');
  });

  it('refuses a text that is not there, and one that stays the same', async () => {
    await given('x\n');
    expect((await edit({ old_string: 'X', new_string: 'z' })).error?.code).toBe('TOOL_ERROR');
    expect((await edit({ old_string: 'x', new_string: 'x' })).error?.code).toBe('INVALID_ARGS');
    expect((await edit({ old_string: '', new_string: 'x' })).error?.code).toBe('INVALID_ARGS');
  });

  it('needs a file that was read and is unchanged', async () => {
    await writeFile(fixture.path('a.txt'), 'x\n');
    expect((await edit({ old_string: 'x', new_string: 'y' })).error?.code).toBe('FS_NOT_OBSERVED');
    await read('a.txt');
    await writeFile(fixture.path('a.txt'), 'x and more\n');
    expect((await edit({ old_string: 'x', new_string: 'y' })).error?.code).toBe('FS_STALE_VERSION');
    expect((await edit({ file_path: 'none', old_string: 'x', new_string: 'y' })).error?.code).toBe(
      'FS_NOT_FOUND',
    );
  });

  it('keeps CRLF line ends and a byte order mark', async () => {
    await given('\ufeffone\r\ntwo\r\nthree\r\n');
    await edit({ old_string: 'one\ntwo', new_string: 'uno\ndos' });
    expect(await onDisk('a.txt')).toBe('\ufeffuno\r\ndos\r\nthree\r\n');
  });

  it('does not damage a file that is not UTF-8', async () => {
    await given(Buffer.from([0x78, 0xe9, 0x0a]));
    expect(textOf(await edit({ old_string: 'x', new_string: 'y' }))).toContain('is not UTF-8');
    expect(await readFile(fixture.path('a.txt'))).toEqual(Buffer.from([0x78, 0xe9, 0x0a]));
  });
});
