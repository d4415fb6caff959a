import { describe, expect, it } from 'vitest';
import { ChatCompletionsTranslator } from '../../../../src/model/chat-completions/translate.js';
import { MAX_ANSWER_CHARACTERS } from '../../../../src/model/block-writer.js';
import { randomPieces, seededRandom } from '../seeded-random.js';
import { assembled, CONTEXT, eventStream, translated } from '../translation.js';

const PRICE = { input: 1, output: 2, cacheRead: 0.5 };
const translator = () => new ChatCompletionsTranslator({ price: PRICE, context: CONTEXT });

const delta = (value: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});
const fragment = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args: string,
) => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});
const calls = (...fragments: object[]) => delta({ tool_calls: fragments });
const run = (events: readonly unknown[]) => translated([eventStream(events)], translator());
const contentOf = (events: readonly unknown[]) => assembled(run(events)).content;
const failing = (events: readonly unknown[]) => expect(() => run(events));

const READ = { type: 'tool-call', callId: 'a', name: 'read', arguments: '{"file_path":"ü.md"}' };
const GLOB = { type: 'tool-call', callId: 'b', name: 'glob', arguments: '{"pattern":"**/*"}' };

const RECORDED = [
  delta({ role: 'assistant', content: null, reasoning_content: 'Hmm, 漢' }),
  delta({ reasoning_content: '字 🧭' }),
  delta({ content: 'Let me ' }),
  delta({ content: 'look.' }),
  calls(fragment(0, 'a', 'read', '')),
  calls(fragment(1, 'b', 'glob', '')),
  calls(fragment(0, undefined, undefined, '{"file_path"'), fragment(1, undefined, undefined, '{"pattern":')),
  calls(fragment(1, undefined, undefined, '"**/*"}')),
  calls(fragment(0, undefined, undefined, ':"ü.md"}')),
  delta({}, 'tool_calls'),
  {
    choices: [],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_cache_hit_tokens: 60,
      completion_tokens_details: { reasoning_tokens: 20 },
    },
  },
  '[DONE]',
];

describe('translating a chat completions stream', () => {
  it('gives blocks that open before their deltas, close once, and one finish at the end', () => {
    expect(run(RECORDED)).toEqual([
      { type: 'block-start', index: 0, block: 'reasoning' },
      { type: 'reasoning-delta', index: 0, text: 'Hmm, 漢' },
      { type: 'reasoning-delta', index: 0, text: '字 🧭' },
      { type: 'block-end', index: 0 },
      { type: 'block-start', index: 1, block: 'text' },
      { type: 'text-delta', index: 1, text: 'Let me ' },
      { type: 'text-delta', index: 1, text: 'look.' },
      { type: 'block-end', index: 1 },
      { type: 'block-start', index: 2, block: 'tool-call' },
      { type: 'tool-call-delta', index: 2, callId: 'a', name: 'read', argumentsDelta: '' },
      { type: 'block-start', index: 3, block: 'tool-call' },
      { type: 'tool-call-delta', index: 3, callId: 'b', name: 'glob', argumentsDelta: '' },
      { type: 'tool-call-delta', index: 2, argumentsDelta: '{"file_path"' },
      { type: 'tool-call-delta', index: 3, argumentsDelta: '{"pattern":' },
      { type: 'tool-call-delta', index: 3, argumentsDelta: '"**/*"}' },
      { type: 'tool-call-delta', index: 2, argumentsDelta: ':"ü.md"}' },
      { type: 'block-end', index: 2 },
      { type: 'block-end', index: 3 },
      {
        type: 'usage',
        usage: {
          inputTokens: 40,
          outputTokens: 30,
          cacheReadTokens: 60,
          cacheWriteTokens: 0,
          reasoningTokens: 20,
          costUsd: (40 * 1 + 60 * 0.5 + 50 * 2) / 1e6,
        },
      },
      { type: 'finish', reason: 'tool-calls' },
    ]);
  });

  it('gives the same blocks for any split of the bytes', () => {
    const bytes = eventStream(RECORDED);
    const random = seededRandom(7);
    const whole = assembled(translated([bytes], translator())).content;
    expect(whole).toEqual([
      { type: 'reasoning', text: 'Hmm, 漢字 🧭' },
      { type: 'text', text: 'Let me look.' },
      READ,
      GLOB,
    ]);
    expect(
      assembled(
        translated(
          [...bytes].map((byte) => Uint8Array.of(byte)),
          translator(),
        ),
      ).content,
    ).toEqual(whole);
    for (let round = 0; round < 200; round += 1) {
      expect(assembled(translated(randomPieces(bytes, random, 40), translator())).content).toEqual(whole);
    }
  });

  it('gives the same calls for any interleaving of their fragments', () => {
    const random = seededRandom(3);
    for (let round = 0; round < 300; round += 1) {
      const queues = [READ, GLOB].map((call, index) => {
        const again = random() < 0.5;
        const parts = call.arguments.match(/.{1,5}/g) ?? [];
        return [
          fragment(index, call.callId, call.name, ''),
          ...parts.map((part) =>
            fragment(index, again ? call.callId : '', again ? call.name : undefined, part),
          ),
        ];
      });
      const events: unknown[] = [calls(queues[0]!.shift()!), calls(queues[1]!.shift()!)];
      while (queues.some(({ length }) => length > 0)) {
        const next = queues[Math.floor(random() * 2)]!.shift();
        if (next !== undefined) events.push(calls(next));
      }
      expect(contentOf([...events, delta({}, 'tool_calls'), '[DONE]'])).toEqual([READ, GLOB]);
    }
  });

  it('tells calls apart where the provider leaves out the index', () => {
    const events = [
      calls(fragment(undefined, 'a', 'read', '{"file_path":')),
      calls(fragment(undefined, undefined, undefined, '"ü.md"}')),
      calls(fragment(undefined, 'b', 'glob', '{"pattern":"**/*"}')),
      delta({}, 'tool_calls'),
      '[DONE]',
    ];
    expect(contentOf(events)).toEqual([READ, GLOB]);
  });

  it('tells whole calls apart where the provider gives neither index nor id', () => {
    const events = [
      calls(fragment(undefined, '', 'read', READ.arguments), fragment(undefined, '', 'glob', GLOB.arguments)),
      delta({}, 'stop'),
      '[DONE]',
    ];
    expect(contentOf(events)).toEqual([
      { ...READ, callId: 'made_1' },
      { ...GLOB, callId: 'made_2' },
    ]);
  });

  it('tells whole calls apart where the provider gives all of them the index 0', () => {
    const events = [
      calls(fragment(0, 'a', 'read', READ.arguments)),
      calls(fragment(0, 'b', 'glob', GLOB.arguments)),
      delta({}, 'tool_calls'),
      '[DONE]',
    ];
    expect(contentOf(events)).toEqual([READ, GLOB]);
  });

  it('takes an id and a name that come late', () => {
    const events = [
      calls(fragment(0, '', '', '{"file_path":')),
      calls(fragment(0, 'a', 'read', '"ü.md"}')),
      delta({}, 'tool_calls'),
      '[DONE]',
    ];
    expect(contentOf(events)).toEqual([READ]);
  });

  it('takes arguments that come parsed', () => {
    const parsed = delta({
      tool_calls: [{ index: 0, id: 'a', function: { name: 'read', arguments: { file_path: 'ü.md' } } }],
    });
    expect(contentOf([parsed, delta({}, 'tool_calls'), '[DONE]'])).toEqual([READ]);
  });

  it('takes reasoning under its other name', () => {
    const events = [delta({ reasoning: 'Hm' }), delta({ content: 'Yes' }), delta({}, 'stop'), '[DONE]'];
    expect(contentOf(events)).toEqual([
      { type: 'reasoning', text: 'Hm' },
      { type: 'text', text: 'Yes' },
    ]);
  });

  it('ignores what follows [DONE]', () => {
    const events = [
      delta({ content: 'Yes' }),
      delta({}, 'stop'),
      '[DONE]',
      delta({ content: 'No' }),
      { error: { message: 'x' } },
    ];
    expect(contentOf(events)).toEqual([{ type: 'text', text: 'Yes' }]);
  });

  it('lets the last usage win', () => {
    const events = [
      { ...delta({ content: 'Yes' }), usage: { prompt_tokens: 1, completion_tokens: 1 } },
      {
        ...delta({}, 'stop'),
        usage: { prompt_tokens: 8, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } },
      },
      '[DONE]',
    ];
    expect(run(events).filter(({ type }) => type === 'usage')).toEqual([
      {
        type: 'usage',
        usage: expect.objectContaining({ inputTokens: 5, outputTokens: 4, cacheReadTokens: 3 }) as unknown,
      },
    ]);
  });

  it('leaves the cost open where the model has no price', () => {
    const events = [
      delta({ content: 'Yes' }),
      { ...delta({}, 'stop'), usage: { prompt_tokens: 1, completion_tokens: 1 } },
      '[DONE]',
    ];
    const unpriced = new ChatCompletionsTranslator({ price: undefined, context: CONTEXT });
    expect(translated([eventStream(events)], unpriced)).toContainEqual({
      type: 'usage',
      usage: expect.objectContaining({ costUsd: null }) as unknown,
    });
  });
});

describe('when a chat completions answer is complete', () => {
  const text = delta({ content: 'Yes' });
  const call = calls(fragment(0, 'a', 'read', '{}'));

  it.each([
    ['stop', [text, delta({}, 'stop'), '[DONE]'], 'stop'],
    ['stop without [DONE]', [text, delta({}, 'stop')], 'stop'],
    ['stop with calls', [call, delta({}, 'stop'), '[DONE]'], 'tool-calls'],
    ['tool_calls', [call, delta({}, 'tool_calls'), '[DONE]'], 'tool-calls'],
    ['length', [text, delta({}, 'length'), '[DONE]'], 'max-tokens'],
    ['length with nothing', [delta({}, 'length'), '[DONE]'], 'max-tokens'],
  ] as const)('%s finishes', (_name, events, reason) => {
    expect(run(events).at(-1)).toEqual({ type: 'finish', reason });
  });

  it.each([
    ['[DONE] without a finish reason', [text, '[DONE]'], 'STREAM_CLOSED'],
    ['an end without either', [text], 'STREAM_CLOSED'],
    ['no event at all', [], 'STREAM_CLOSED'],
    [
      'an error with a finish after it',
      [text, { error: { type: 'overloaded_error', message: 'x' } }, delta({}, 'stop'), '[DONE]'],
      'SERVER',
    ],
    ['an error after the finish reason', [text, delta({}, 'stop'), { error: { message: 'x' } }], 'SERVER'],
    ['content_filter', [text, delta({}, 'content_filter'), '[DONE]'], 'CONTENT_FILTER'],
    ['insufficient_system_resource', [text, delta({}, 'insufficient_system_resource'), '[DONE]'], 'SERVER'],
    ['a reason that nobody knows', [text, delta({}, 'whatever'), '[DONE]'], 'MALFORMED_RESPONSE'],
    ['tool_calls without a call', [text, delta({}, 'tool_calls'), '[DONE]'], 'MALFORMED_RESPONSE'],
    [
      'a call without a name',
      [calls(fragment(0, 'a', '', '{}')), delta({}, 'tool_calls'), '[DONE]'],
      'MALFORMED_RESPONSE',
    ],
    ['an event that is no JSON', [text, '{"choices":', delta({}, 'stop'), '[DONE]'], 'MALFORMED_RESPONSE'],
    ['an event of the wrong shape', [{ choices: [{ delta: { content: 7 } }] }], 'MALFORMED_RESPONSE'],
    [
      'stop with nothing at all',
      [delta({ role: 'assistant', content: '' }), delta({}, 'stop'), '[DONE]'],
      'EMPTY_RESPONSE',
    ],
    [
      'stop with reasoning alone',
      [delta({ reasoning_content: 'Hm' }), delta({}, 'stop'), '[DONE]'],
      'EMPTY_RESPONSE',
    ],
  ])('%s fails', (_name, events, code) => {
    failing(events).toThrow(expect.objectContaining({ code }));
  });

  it('bounds the size of an answer', () => {
    const subject = translator();
    const data = JSON.stringify(calls(fragment(0, 'a', 'read', 'x'.repeat(1024 * 1024))));
    const feed = (): void => {
      for (let fed = 0; fed <= MAX_ANSWER_CHARACTERS; fed += 1024 * 1024) subject.push({ data });
    };
    expect(feed).toThrow(expect.objectContaining({ code: 'MALFORMED_RESPONSE' }));
  });
});
