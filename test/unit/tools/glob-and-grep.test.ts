import { execFileSync } from 'node:child_process';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createToolFixture, textOf, type ToolFixture } from './tool-fixture.js';

let fixture: ToolFixture;
beforeEach(async () => {
  fixture = await createToolFixture();
});
afterEach(() => fixture.remove());

/** Puts files into the workspace, each newer than the one before. */
async function given(files: Record<string, string>): Promise<void> {
  let seconds = 1_700_000_000;
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(fixture.path(name)), { recursive: true });
    await writeFile(fixture.path(name), content);
    await utimes(fixture.path(name), seconds, (seconds += 1));
  }
}
const glob = async (args: object) => textOf(await fixture.run('glob', args)).split('\n');
const grep = async (args: object) => textOf(await fixture.run('grep', args)).split('\n');

describe('glob', () => {
  it('lists the newest first', async () => {
    await given({ 'b.ts': '', 'src/a.ts': '', 'a.md': '', 'c.ts': '' });
    expect(await glob({ pattern: '**/*.ts' })).toEqual([
      'c.ts',
      'src/a.ts',
      'b.ts',
      '[3 files, the newest first]',
    ]);
  });

  it('shows 100 and counts the rest', async () => {
    await given(Object.fromEntries(Array.from({ length: 103 }, (_, index) => [`${String(index)}.txt`, ''])));
    const lines = await glob({ pattern: '*.txt' });
    expect(lines.slice(0, 2)).toEqual(['102.txt', '101.txt']);
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toBe('[the 100 newest of 103 files; narrow the pattern to see the others]');
  });

  it('looks in a folder, and shows its paths from the workspace', async () => {
    await given({ 'src/a.ts': '', 'src/deep/b.ts': '', 'c.ts': '' });
    expect(await glob({ pattern: '*.ts', path: 'src' })).toEqual([
      'src/deep/b.ts',
      'src/a.ts',
      expect.any(String),
    ]);
    expect(await glob({ pattern: './deep/*', path: 'src' })).toEqual(['src/deep/b.ts', expect.any(String)]);
    expect(await glob({ pattern: `${fixture.workspace}/src/*.ts` })).toEqual([
      'src/a.ts',
      expect.any(String),
    ]);
  });

  it.each(['/etc/*', '../*', 'a/../../*'])('refuses the pattern %s', async (pattern) => {
    expect((await fixture.run('glob', { pattern })).error?.code).toBe('OUTSIDE_WORKSPACE');
  });

  it('honours .gitignore files, also nested ones and those above the folder, without a repository', async () => {
    await given({
      '.gitignore': '*.log\n/build/\n',
      'a.log': '',
      'build/a.txt': '',
      'src/.gitignore': '!keep.log\ngenerated\n',
      'src/keep.log': '',
      'src/generated/a.txt': '',
      'src/deep/b.log': '',
      'src/deep/a.txt': '',
    });
    expect((await glob({ pattern: '**/*.{txt,log}' })).slice(0, -1)).toEqual([
      'src/deep/a.txt',
      'src/keep.log',
    ]);
    expect((await glob({ pattern: '*.{txt,log}', path: 'src/deep' })).slice(0, -1)).toEqual([
      'src/deep/a.txt',
    ]);
  });

  it('looks into an ignored folder that is named, and never into .git', async () => {
    await given({ '.gitignore': 'build\n', 'build/a.txt': '', '.git/b.txt': '', '.github/c.txt': '' });
    expect(await glob({ pattern: '*', path: 'build' })).toEqual([
      'build/a.txt',
      '[1 file, the newest first]',
    ]);
    expect((await glob({ pattern: '*.txt' })).slice(0, -1)).toEqual(['.github/c.txt']);
  });

  it('does not heed what ignores the workspace from above', async () => {
    await writeFile(`${fixture.folder}/.gitignore`, '*\n');
    execFileSync('git', ['init', '--quiet', fixture.folder]);
    await given({ 'a.txt': '' });
    expect(await glob({ pattern: '*' })).toEqual(['a.txt', '[1 file, the newest first]']);
  });
});

describe('grep', () => {
  it('shows path, line and text, in the order of the paths', async () => {
    await given({ 'b.txt': 'x\nfoo 1\n', 'a/c.txt': 'foo 2\r\n', 'd.txt': 'bar\n' });
    expect(await grep({ pattern: 'fo+ \\d' })).toEqual(['a/c.txt:1:foo 2', 'b.txt:2:foo 1', '[2 matches]']);
  });

  it('says when there is none', async () => {
    expect(await grep({ pattern: 'nothing' })).toEqual(['[no match]']);
  });

  it('searches one file, or the files that include names', async () => {
    await given({
      'a.ts': 'foo\n',
      'src/b.ts': 'foo\n',
      'src/c.md': 'foo\n',
      'c.log': 'foo\n',
      '.gitignore': '*.log\n',
    });
    expect(await grep({ pattern: 'foo', path: 'src/b.ts' })).toEqual(['src/b.ts:1:foo', '[1 match]']);
    expect(await grep({ pattern: 'foo', include: '*.{ts,log}' })).toEqual([
      'a.ts:1:foo',
      'src/b.ts:1:foo',
      '[2 matches]',
    ]);
    expect(await grep({ pattern: 'foo', include: 'src/**' })).toEqual([
      'src/b.ts:1:foo',
      'src/c.md:1:foo',
      '[2 matches]',
    ]);
    expect(await grep({ pattern: 'foo', path: 'src' })).toEqual([
      'src/b.ts:1:foo',
      'src/c.md:1:foo',
      '[2 matches]',
    ]);
  });

  it('shows 250 matches', async () => {
    await given({ 'a.txt': 'foo\n'.repeat(251), 'b.txt': 'foo\n'.repeat(250) });
    const lines = await grep({ pattern: 'foo' });
    expect(lines).toHaveLength(251);
    expect(lines.at(-1)).toBe('[the first 250 matches; narrow the pattern or the path to see the others]');
    expect((await grep({ pattern: 'foo', path: 'b.txt' })).at(-1)).toBe('[250 matches]');
  });

  it('shows 2000 bytes of a line, in whole characters', async () => {
    await given({ 'a.txt': `foo ${'€'.repeat(2000)}\n` });
    const [line] = await grep({ pattern: 'foo' });
    expect(line).toBe(`a.txt:1:foo ${'€'.repeat(665)}… [line cut at 2000 bytes]`);
  });

  it('names the file of a line that is too long to look at', async () => {
    await given({ 'a.txt': `foo${'x'.repeat(3_000_000)}\n`, 'b.txt': 'foo\n' });
    expect(await grep({ pattern: 'foo' })).toEqual([
      'a.txt::[the line is too long to show]',
      'b.txt:1:foo',
      '[2 matches]',
    ]);
  });

  it('takes a pattern that begins with a dash, and says what is wrong with a bad one', async () => {
    await given({ 'a.txt': '--files\n' });
    expect(await grep({ pattern: '--files' })).toEqual(['a.txt:1:--files', '[1 match]']);
    const outcome = await fixture.run('grep', { pattern: '(' });
    expect(outcome.error?.code).toBe('INVALID_ARGS');
    expect(textOf(outcome)).toContain('unclosed group');
  });

  it('leaves binary files out', async () => {
    await given({ 'a.bin': '\0foo\n', 'b.txt': 'foo\n' });
    expect(await grep({ pattern: 'foo' })).toEqual(['b.txt:1:foo', '[1 match]']);
  });

  it('stops when it is aborted', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'));
    await expect(fixture.run('grep', { pattern: 'foo' }, { signal })).rejects.toThrow('cancelled');
  });
});
