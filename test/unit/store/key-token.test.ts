import { describe, expect, it } from 'vitest';
import { keyIdSchema } from '../../../src/contract/ids.js';
import {
  isSecretOf,
  keyText,
  newKeyToken,
  parseKeyToken,
  secretDigest,
} from '../../../src/store/key-token.js';

describe('a key', () => {
  it('is read back from its text, whatever its random bytes are', () => {
    for (const byte of [0x00, 0xff, 0xfb, 0x3e]) {
      const token = newKeyToken((bytes) => Buffer.alloc(bytes, byte));
      expect(keyText(token)).toMatch(/^tk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
      expect(parseKeyToken(keyText(token))).toEqual(token);
      expect(keyIdSchema.safeParse(token.id).success).toBe(true);
    }
  });

  it('is another one each time', () => {
    const texts = Array.from({ length: 50 }, () => keyText(newKeyToken()));
    expect(new Set(texts).size).toBe(50);
  });

  it.each([
    '',
    'tk_',
    'tk_abcdefabcdef',
    `tk_abcdefabcdef_${'x'.repeat(42)}`,
    `tk_abcdefabcdef_${'x'.repeat(44)}`,
    `tk_ABCDEFABCDEF_${'x'.repeat(43)}`,
    `xk_abcdefabcdef_${'x'.repeat(43)}`,
    `tk_abcdefabcdef_${'x'.repeat(43)}\n`,
    `tk_abcdefabcdef_${'x'.repeat(42)}é`,
  ])('is not %j', (text) => {
    expect(parseKeyToken(text)).toBeUndefined();
  });

  it('is known by its secret, of which only the digest is kept', () => {
    const { secret } = newKeyToken();
    const digest = secretDigest(secret);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(isSecretOf(secret, digest)).toBe(true);
    expect(isSecretOf(`${secret}x`, digest)).toBe(false);
    expect(isSecretOf('', digest)).toBe(false);
    expect(isSecretOf(newKeyToken().secret, digest)).toBe(false);
  });
});
