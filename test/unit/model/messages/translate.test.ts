import { describe, expect, it } from 'vitest';
import { MessagesTranslator } from '../../../../src/model/messages/translate.js';
import { randomPieces, seededRandom } from '../seeded-random.js';
import { assembled, CONTEXT, eventStream, translated } from '../translation.js';

const translator = () =>
  new MessagesTranslator({
    price: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
    context: CONTEXT,
  });

const started = {
  type: 'message_start',
  message: {
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
      output_tokens: 1,
    },
  },
};
const start = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, value: object) => ({ type: 'content_block_delta', index, delta: value });
const text = (index: number, value: string) => delta(index, { type: 'text_delta', text: value });
const json = (index: number, value: string) =>
  delta(index, { type: 'input_json_delta', partial_json: value });
const stop = (index: number) => ({ type: 'content_block_stop', index });
const ended = (reason: string | null) => ({
  type: 'message_delta',
  delta: { stop_reason: reason },
  usage: { output_tokens: 50 },
});
const over = { type: 'message_stop' };
const answer = (...blocks: readonly object[]) => [started, ...blocks];
const YES = [start(0, { type: 'text', text: '' }), text(0, 'Yes'), stop(0)];
const CALL = [start(0, { type: 'tool_use', id: 'a', name: 'read', input: {} }), stop(0)];

const run = (events: readonly unknown[]) => translated([eventStream(events)], translator());
const contentOf = (events: readonly unknown[]) => assembled(run(events)).content;

const RECORDED = answer(
  { type: 'ping' },
  start(0, { type: 'thinking', thinking: '', signature: '' }),
  delta(0, { type: 'thinking_delta', thinking: 'Hmm, ' }),
  delta(0, { type: 'thinking_delta', thinking: '漢字' }),
  delta(0, { type: 'signature_delta', signature: 'proof==' }),
  stop(0),
  start(1, { type: 'redacted_thinking', data: 'hidden' }),
  stop(1),
  start(2, { type: 'text', text: '' }),
  text(2, 'Let me '),
  text(2, 'look 🧭'),
  stop(2),
  start(3, { type: 'server_tool_use', id: 's', name: 'web', input: {} }),
  json(3, '{"a":1}'),
  stop(3),
  start(4, { type: 'tool_use', id: 'a', name: 'read', input: {} }),
  json(4, ''),
  json(4, '{"file_path"'),
  json(4, ':"ü.md"}'),
  stop(4),
  start(5, { type: 'tool_use', id: 'b', name: 'glob', input: { pattern: '*' } }),
  stop(5),
  { type: 'something_new', index: 9 },
  ended('tool_use'),
  over,
);

describe('translating a Messages stream', () => {
  it('gives the same blocks for any split of the bytes', () => {
    const expected = [
      { type: 'reasoning', text: 'Hmm, 漢字', replay: 'local/signature/proof==' },
      { type: 'reasoning', text: '', replay: 'local/redacted/hidden' },
      { type: 'text', text: 'Let me look 🧭' },
      { type: 'tool-call', callId: 'a', name: 'read', arguments: '{"file_path":"ü.md"}' },
      { type: 'tool-call', callId: 'b', name: 'glob', arguments: '{"pattern":"*"}' },
    ];
    const bytes = eventStream(RECORDED);
    const random = seededRandom(5);
    expect(contentOf(RECORDED)).toEqual(expected);
    for (let round = 0; round < 200; round += 1) {
      expect(assembled(translated(randomPieces(bytes, random, 40), translator())).content).toEqual(expected);
    }
  });

  it('opens each block before its deltas, closes it once and finishes last', () => {
    const chunks = run(RECORDED);
    const open = new Set<number>();
    const closed = new Set<number>();
    for (const chunk of chunks) {
      if (!('index' in chunk)) continue;
      if (chunk.type === 'block-start') open.add(chunk.index);
      else expect(open.has(chunk.index) && !closed.has(chunk.index)).toBe(true);
      if (chunk.type === 'block-end') closed.add(chunk.index);
    }
    expect(closed).toEqual(open);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'tool-calls' });
    expect(chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
  });

  it('reports usage at the start, and in full at the end', () => {
    const usages = run(answer(...YES, ended('end_turn'), over)).filter(({ type }) => type === 'usage');
    const parts = { inputTokens: 10, cacheReadTokens: 100, cacheWriteTokens: 20, reasoningTokens: 0 };
    expect(usages).toEqual([
      { type: 'usage', usage: { ...parts, outputTokens: 1, costUsd: (10 + 10 + 25 + 2) / 1e6 } },
      { type: 'usage', usage: { ...parts, outputTokens: 50, costUsd: (10 + 10 + 25 + 100) / 1e6 } },
    ]);
  });

  it('closes a block that the provider left open', () => {
    const events = answer(start(0, { type: 'text', text: 'Y' }), text(0, 'es'), ended('end_turn'), over);
    expect(run(events)).toContainEqual({ type: 'block-end', index: 0 });
    expect(contentOf(events)).toEqual([{ type: 'text', text: 'Yes' }]);
  });

  it('lets the first close of a block win', () => {
    const events = answer(
      ...YES,
      text(0, ' and no'),
      stop(0),
      start(0, { type: 'text', text: 'No' }),
      ended('end_turn'),
      over,
    );
    expect(contentOf(events)).toEqual([{ type: 'text', text: 'Yes' }]);
  });
});

describe('when a Messages answer is complete', () => {
  it.each([
    ['end_turn', [...YES, ended('end_turn'), over], 'stop'],
    ['stop_sequence', [...YES, ended('stop_sequence'), over], 'stop'],
    ['tool_use', [...CALL, ended('tool_use'), over], 'tool-calls'],
    ['end_turn with calls', [...CALL, ended('end_turn'), over], 'tool-calls'],
    ['max_tokens', [...YES, ended('max_tokens'), over], 'max-tokens'],
    ['model_context_window_exceeded', [...YES, ended('model_context_window_exceeded'), over], 'max-tokens'],
  ] as const)('%s finishes', (_name, blocks, reason) => {
    expect(run(answer(...blocks)).at(-1)).toEqual({ type: 'finish', reason });
  });

  it.each([
    ['an end before message_stop', [...YES, ended('end_turn')], 'STREAM_CLOSED'],
    ['message_stop without a stop reason', [...YES, over], 'STREAM_CLOSED'],
    [
      'an error with a finish after it',
      [...YES, { type: 'error', error: { type: 'overloaded_error' } }, ended('end_turn'), over],
      'SERVER',
    ],
    ['refusal', [...YES, ended('refusal'), over], 'CONTENT_FILTER'],
    ['a reason that nobody knows', [...YES, ended('pause_turn'), over], 'MALFORMED_RESPONSE'],
    ['tool_use without a call', [...YES, ended('tool_use'), over], 'MALFORMED_RESPONSE'],
    [
      'a call without a name',
      [start(0, { type: 'tool_use', id: 'a', input: {} }), ended('tool_use'), over],
      'MALFORMED_RESPONSE',
    ],
    ['a delta without its block', [text(3, 'x')], 'MALFORMED_RESPONSE'],
    ['an event of the wrong shape', [{ type: 'content_block_stop' }], 'MALFORMED_RESPONSE'],
    ['end_turn with nothing', [ended('end_turn'), over], 'EMPTY_RESPONSE'],
  ])('%s fails', (_name, blocks, code) => {
    expect(() => run(answer(...blocks))).toThrow(expect.objectContaining({ code }));
  });
});
