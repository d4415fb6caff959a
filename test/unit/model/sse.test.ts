import { describe, expect, it } from 'vitest';
import { createSseDecoder, MAX_EVENT_CHARACTERS, type ServerSentEvent } from '../../../src/model/sse.js';
import { randomPieces, seededRandom } from './seeded-random.js';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function decode(pieces: readonly Uint8Array[]): ServerSentEvent[] {
  const decoder = createSseDecoder();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

const EVENTS = [
  { event: undefined, data: '{"a":"é漢🧭"}' },
  { event: 'error', data: 'two\nlines' },
  { event: undefined, data: '[DONE]' },
];

function spelled(newline: string): string {
  return [
    '\uFEFF: a comment',
    'retry: 10',
    'id: 7',
    'unknown: field',
    'data: {"a":"é漢🧭"}',
    '',
    'event: error',
    'data: two',
    'data: lines',
    '',
    ': another',
    'data:[DONE]',
    '',
    '',
  ].join(newline);
}

describe('decoding server-sent events', () => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('gives the same events for any split of the bytes with line ends of %s', (_name, newline) => {
    const bytes = bytesOf(spelled(newline));
    const random = seededRandom(1);
    expect(decode([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(EVENTS);
    for (let round = 0; round < 200; round += 1) {
      expect(decode(randomPieces(bytes, random))).toEqual(EVENTS);
    }
  });

  it('gives the last event where its blank line is missing', () => {
    expect(decode([bytesOf('data: 1\n\ndata: [DONE]')])).toEqual([{ data: '1' }, { data: '[DONE]' }]);
  });

  it('skips comments and fields that it does not know', () => {
    expect(decode([bytesOf(': ping\n\nfoo: bar\n\nevent: ping\n\n')])).toEqual([]);
  });

  it('refuses a line without end as malformed', () => {
    const decoder = createSseDecoder();
    const piece = bytesOf('x'.repeat(1024 * 1024));
    const feed = (): void => {
      for (let fed = 0; fed <= MAX_EVENT_CHARACTERS; fed += piece.length) decoder.push(piece);
    };
    expect(feed).toThrow(expect.objectContaining({ code: 'MALFORMED_RESPONSE' }));
  });

  it('refuses an event of ever more data lines as malformed', () => {
    const decoder = createSseDecoder();
    const line = bytesOf(`data: ${'x'.repeat(1024 * 1024)}\n`);
    const feed = (): void => {
      for (let fed = 0; fed <= MAX_EVENT_CHARACTERS; fed += line.length) decoder.push(line);
      decoder.push(line);
    };
    expect(feed).toThrow(expect.objectContaining({ code: 'MALFORMED_RESPONSE' }));
  });
});
