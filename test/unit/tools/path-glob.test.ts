import { describe, expect, it } from 'vitest';
import { pathMatcher } from '../../../src/tools/path-glob.js';

describe('a glob for paths', () => {
  const table: [string, string, boolean][] = [
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/deep/a.ts', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/*.ts', 'other/src/a.ts', false],
    ['/src/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/a/b/c.ts', true],
    ['**/deep/**', 'src/deep/a/b', true],
    ['**', 'anything/at/all', true],
    ['a/**/b/**/c', 'a/x/b/y/b/z/c', true],
    ['a/**/b/**/c', 'a/x/y/c', false],
    ['*.{ts,tsx}', 'a.tsx', true],
    ['{src,test}/**/*.{ts,{j,m}s}', 'test/a.ms', true],
    ['{a}', '{a}', true],
    ['?.ts', '漢.ts', true],
    ['?.ts', 'ab.ts', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[]]x', ']x', true],
    ['[x', '[x', true],
    ['\\*x', '*x', true],
    ['\\*x', 'ax', false],
    ['a.b', 'axb', false],
    ['*', '.hidden', true],
    ['a*', 'a\nb', true],
  ];
  it.each(table)('%j on %j is %j', (glob, path, expected) => {
    expect(pathMatcher(glob)(path)).toBe(expected);
  });

  it('refuses braces that multiply without bound', () => {
    expect(() => pathMatcher('{a,b}'.repeat(12))).toThrow(RangeError);
  });

  it('takes no long time, however many stars it has', () => {
    expect(pathMatcher(`${'*a'.repeat(100)}b`)('a'.repeat(250))).toBe(false);
    expect(pathMatcher(`${'**/a/'.repeat(100)}b`)('a/'.repeat(1000))).toBe(false);
  });
});
