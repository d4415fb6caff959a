import { describe, expect, it } from 'vitest';
import { decodeText } from '../../../../src/tools/web-fetch/charset.js';

const bytes = (text: string, encoding: BufferEncoding = 'latin1') => Buffer.from(text, encoding);

describe('the character set of a text', () => {
  it.each([
    ['is UTF-8 where nothing names another', bytes('grün', 'utf8'), 'text/plain', 'grün'],
    ['comes from the Content-Type', bytes('gr\xfcn'), 'text/html; charset="ISO-8859-1"', 'grün'],
    ['may be one of many bytes', bytes('\x93\xfa\x96{'), 'text/plain;charset=shift_jis', '日本'],
    [
      'comes from a meta element',
      bytes('<meta charset=windows-1251>\xcf'),
      '',
      '<meta charset=windows-1251>П',
    ],
    [
      'comes from an old meta element',
      bytes('<META http-equiv=x content="text/html; charset=windows-1251">\xcf'),
      'text/html',
      '<META http-equiv=x content="text/html; charset=windows-1251">П',
    ],
    [
      'comes from an XML declaration',
      bytes('<?xml version="1.0" encoding="koi8-r"?>\xf0'),
      'text/xml',
      '<?xml version="1.0" encoding="koi8-r"?>П',
    ],
    [
      'is by the Content-Type rather than by the page',
      bytes('<meta charset=windows-1251>grün', 'utf8'),
      'text/html; charset=utf-8',
      '<meta charset=windows-1251>grün',
    ],
    ['is by the byte order mark first', bytes('\ufeffgrün', 'utf16le'), 'text/html; charset=utf-8', 'grün'],
    ['is not what no one knows', bytes('grün', 'utf8'), 'text/plain; charset=x-unheard-of', 'grün'],
    [
      'is not UTF-16 where that could be read as bytes',
      bytes('<meta charset=utf-16>'),
      '',
      '<meta charset=utf-16>',
    ],
    [
      'is not what merely ends in the word',
      bytes('<meta data-charset=koi8-r>ü', 'utf8'),
      '',
      '<meta data-charset=koi8-r>ü',
    ],
  ])('%s', (_name, text, contentType, expected) => {
    expect(decodeText(text, contentType)).toBe(expected);
  });
});
