import { describe, expect, it } from 'vitest';
import { previewOf } from '../../../src/core/preview.js';

const SMILE = '\u{1F600}';

describe('the preview of a text', () => {
  it('is its first and its last 1024 characters', () => {
    const text = 'a'.repeat(1024) + 'm'.repeat(5000) + 'z'.repeat(1024);
    expect(previewOf(text)).toEqual({ head: 'a'.repeat(1024), tail: 'z'.repeat(1024) });
  });

  it('shows no character twice where the text is short', () => {
    expect(previewOf('short')).toEqual({ head: 'short', tail: '' });
    const text = 'a'.repeat(1024) + 'b'.repeat(100);
    expect(previewOf(text)).toEqual({ head: 'a'.repeat(1024), tail: 'b'.repeat(100) });
  });

  it('cuts no surrogate pair, wherever the pairs stand', () => {
    for (let shift = 0; shift < 4; shift++) {
      const text = 'x'.repeat(shift) + SMILE.repeat(2000) + 'y'.repeat(shift % 2);
      const { head, tail } = previewOf(text);
      for (const part of [head, tail]) {
        expect(JSON.stringify(part)).not.toContain('\\ud');
        expect(part.length).toBeGreaterThan(1020);
      }
      expect(text.startsWith(head)).toBe(true);
      expect(text.endsWith(tail)).toBe(true);
    }
  });
});
