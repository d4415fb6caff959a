import { describe, expect, it } from 'vitest';
import type { ModelChunk } from '../../../src/contract/chunks.js';
import { ZERO_USAGE } from '../../../src/contract/usage.js';
import { assembled } from './translation.js';

const start = (index: number, block: 'text' | 'reasoning' | 'tool-call'): ModelChunk => ({
  type: 'block-start',
  index,
  block,
});
const text = (index: number, value: string): ModelChunk => ({ type: 'text-delta', index, text: value });
const end = (index: number, replay?: string): ModelChunk => ({
  type: 'block-end',
  index,
  ...(replay === undefined ? {} : { replay }),
});
const call = (
  index: number,
  rest: { callId?: string; name?: string; argumentsDelta: string },
): ModelChunk => ({ type: 'tool-call-delta', index, ...rest });
const finish = (reason: 'stop' | 'tool-calls' | 'max-tokens'): ModelChunk => ({ type: 'finish', reason });

describe('assembling blocks', () => {
  it('orders blocks by index, whatever order they came in', () => {
    const { content } = assembled([
      start(1, 'text'),
      start(0, 'text'),
      text(1, 'b'),
      text(0, 'a'),
      end(1),
      end(0),
      finish('stop'),
    ]);
    expect(content).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]);
  });

  it('drops what comes after the first close of a block and after the finish', () => {
    const chunks = [
      start(0, 'text'),
      text(0, 'a'),
      end(0),
      text(0, 'b'),
      end(0),
      start(0, 'text'),
      finish('stop'),
      text(0, 'c'),
      finish('stop'),
    ];
    const { content, published } = assembled(chunks);
    expect(content).toEqual([{ type: 'text', text: 'a' }]);
    expect(published).toEqual([start(0, 'text'), text(0, 'a'), end(0), finish('stop')]);
  });

  it('leaves out blocks that hold nothing, but keeps the proof of hidden reasoning', () => {
    const { content } = assembled([
      start(0, 'text'),
      end(0),
      start(1, 'reasoning'),
      end(1),
      start(2, 'reasoning'),
      end(2, 'proof'),
      finish('stop'),
    ]);
    expect(content).toEqual([{ type: 'reasoning', text: '', replay: 'proof' }]);
  });

  it('drops the calls of an answer that the token limit cut', () => {
    const { content } = assembled([
      start(0, 'text'),
      text(0, 'a'),
      end(0),
      start(1, 'tool-call'),
      call(1, { callId: 'x', name: 'read', argumentsDelta: '{"a' }),
      end(1),
      finish('max-tokens'),
    ]);
    expect(content).toEqual([{ type: 'text', text: 'a' }]);
  });

  it('keeps text and reasoning of an interrupted answer, without calls', () => {
    const { assembler } = assembled([
      start(0, 'reasoning'),
      { type: 'reasoning-delta', index: 0, text: 'hm' },
      start(1, 'text'),
      text(1, 'so'),
      start(2, 'tool-call'),
      call(2, { callId: 'x', name: 'read', argumentsDelta: '{}' }),
    ]);
    expect(assembler.interruptedContent()).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'so' },
    ]);
    expect(assembler.finish).toBeUndefined();
    expect(assembler.visibleCharacters).toBe(4);
  });

  it('replaces ids that are empty, missing, used in the session or repeated in the message, in chunks and content alike', () => {
    const chunks: ModelChunk[] = [
      start(0, 'tool-call'),
      call(0, { callId: 'used', name: 'a', argumentsDelta: '' }),
      start(1, 'tool-call'),
      call(1, { callId: 'x', name: 'b', argumentsDelta: '' }),
      start(2, 'tool-call'),
      call(2, { callId: 'x', name: 'c', argumentsDelta: '' }),
      call(2, { callId: 'y', argumentsDelta: '{}' }),
      start(3, 'tool-call'),
      call(3, { callId: '', name: 'd', argumentsDelta: '' }),
      start(4, 'tool-call'),
      call(4, { name: 'e', argumentsDelta: '' }),
      ...[0, 1, 2, 3, 4].map((index) => end(index)),
      finish('tool-calls'),
    ];
    const { content, published } = assembled(chunks, (id) => id === 'used');
    const idOf = (name: string) => content.find((block) => block.type === 'tool-call' && block.name === name);
    expect(content.map((block) => (block.type === 'tool-call' ? block.callId : ''))).toEqual([
      'made_1',
      'x',
      'made_2',
      'made_3',
      'made_4',
    ]);
    expect(idOf('c')).toMatchObject({ arguments: '{}' });
    const shown = published.flatMap((chunk) =>
      chunk.type === 'tool-call-delta' && chunk.callId !== undefined ? [chunk.callId] : [],
    );
    expect(shown).toEqual(['made_1', 'x', 'made_2', 'made_3', 'made_4']);
  });

  it('keeps the last usage', () => {
    const last = { ...ZERO_USAGE, outputTokens: 7 };
    const { assembler } = assembled([
      { type: 'usage', usage: ZERO_USAGE },
      { type: 'usage', usage: last },
      finish('stop'),
    ]);
    expect(assembler.usage).toEqual(last);
  });
});
