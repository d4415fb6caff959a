import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Replacement, unifiedDiff } from '../../../src/tools/unified-diff.js';

/** Replacements of each occurrence of a text. */
function occurrences(text: string, old: string, replacement: string): Replacement[] {
  const found: Replacement[] = [];
  for (let at = text.indexOf(old); at !== -1; at = text.indexOf(old, at + old.length)) {
    found.push({ start: at, end: at + old.length, text: replacement });
  }
  return found;
}

/** What git makes of the text with the diff. */
function applied(text: string, diff: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-diff-'));
  try {
    writeFileSync(join(folder, 'a'), text);
    writeFileSync(join(folder, 'patch'), `--- a/a\n+++ b/a\n${diff}\n`);
    execFileSync('git', ['apply', '--unidiff-zero', 'patch'], { cwd: folder });
    return readFileSync(join(folder, 'a'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => `line ${String(index)}\n`).join('');

describe('the diff of replacements', () => {
  const cases: [string, string, string, string][] = [
    ['in one line', lines(20), 'line 10', 'changed'],
    ['far apart', lines(40), '5\n', 'five\n'],
    ['close together', lines(12), 'line 1', 'x'],
    ['twice in a line', 'a b a\nc\na\n', 'a', 'z'],
    ['that join two lines', 'a\nb\nc\nd\n', 'b\n', 'b'],
    ['that split a line', 'a\nb-c\nd\n', '-', '\n'],
    ['that remove whole lines', lines(10), 'line 4\nline 5\n', ''],
    ['that remove everything', 'a\nb\n', 'a\nb\n', ''],
    ['at the very beginning', lines(5), 'line 0\n', 'new\nline 0\n'],
    ['at the very end', lines(5), 'line 4\n', 'line 4\nnew\n'],
    ['in every line', lines(30), 'line', 'row'],
  ];
  it.each(cases)('%s makes the new text out of the old one', (_name, text, old, replacement) => {
    const diff = unifiedDiff(text, occurrences(text, old, replacement), 1000);
    expect(applied(text, diff)).toBe(text.replaceAll(old, replacement));
  });

  it('has three lines of context and hunks of their own for what is far apart', () => {
    const text = lines(30);
    const diff = unifiedDiff(
      text,
      [...occurrences(text, 'line 5\n', 'x\n'), ...occurrences(text, 'line 20\n', '')],
      100,
    );
    expect(diff.split('\n').filter((row) => row.startsWith('@@'))).toEqual([
      '@@ -3,7 +3,7 @@',
      '@@ -18,7 +18,6 @@',
    ]);
  });

  it('is cut where it is long', () => {
    const text = lines(30);
    const rows = unifiedDiff(text, occurrences(text, 'line', 'row'), 10).split('\n');
    expect(rows).toHaveLength(11);
    expect(rows.at(-1)).toBe('[51 more lines of the diff]');
  });
});
