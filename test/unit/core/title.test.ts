import { describe, expect, it } from 'vitest';
import { titleOf, titleOfPrompt } from '../../../src/core/title.js';

describe('a title', () => {
  it('is the text on one line', () => {
    expect(titleOf('  Fix\tthe\r\n\nbug \u2028 now  ')).toBe('Fix the bug now');
  });

  it('has no control characters, no turned writing and no halves of characters', () => {
    expect(titleOf('a\u0000b\u001b[31m\u202ec\u2066d\ud83de\ufeff')).toBe('ab[31mcde');
  });

  it('keeps what is not Latin, and characters of several code points', () => {
    expect(titleOf('修复错误 👩‍💻')).toBe('修复错误 👩‍💻');
  });

  it('is cut at a word, and not longer than 80 characters', () => {
    expect(titleOf('word '.repeat(40))).toBe(`${'word '.repeat(15)}word…`);
    for (let length = 70; length < 100; length++) {
      const text = Array.from({ length }, (_, n) => (n % 7 === 6 ? ' ' : 'x')).join('');
      expect(Array.from(titleOf(text)!).length).toBeLessThanOrEqual(80);
      expect(titleOf(text)).not.toMatch(/ …|xxxxxxx/);
    }
  });

  it('is cut inside of a word that is longer than a title', () => {
    expect(titleOf('x'.repeat(200))).toBe(`${'x'.repeat(79)}…`);
    expect(titleOf('😀'.repeat(100))).toBe(`${'😀'.repeat(79)}…`);
    expect(titleOf('x'.repeat(80))).toBe('x'.repeat(80));
  });

  it('is none where there are no words', () => {
    expect(titleOf(' \n\u0007 ')).toBeUndefined();
    expect(
      titleOfPrompt([{ type: 'image', blob: '0'.repeat(64) as never, mediaType: 'image/png' }]),
    ).toBeUndefined();
  });

  it('of a prompt has the words of all its texts', () => {
    const text = (value: string) => ({ type: 'text', text: value }) as const;
    expect(titleOfPrompt([text('Look at'), text('this')])).toBe('Look at this');
  });
});
