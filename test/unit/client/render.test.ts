import { describe, expect, it } from 'vitest';
import type { FollowItem } from '../../../src/client/follow.js';
import { createTranscript, foldTranscript, type Transcript } from '../../../src/client/render.js';
import type { Chunk, Frame } from '../../../src/contract/chunks.js';
import type { SessionEvent } from '../../../src/contract/events.js';

const PLACE = { turn: 1, step: 1 };
const event = (type: SessionEvent['type'], data: unknown, place = PLACE): FollowItem => ({
  type: 'event',
  id: '0',
  event: { sessionId: 's', seq: 0, at: '', type, data, ...place } as unknown as SessionEvent,
});
const frame = (attempt: number, index: number, chunks: Chunk[], call?: number): FollowItem => ({
  type: 'frame',
  id: '0+1',
  frame: {
    frame: 1,
    ...PLACE,
    attempt,
    index,
    chunks,
    ...(call === undefined ? {} : { call }),
  } satisfies Frame,
});
const text = (value: string, index = 0): Chunk => ({ type: 'text-delta', index, text: value });
const opened: Chunk = { type: 'block-start', index: 0, block: 'text' };
const message = (value: string, attempt = 1) =>
  event('assistant/message', { attempt, content: [{ type: 'text', text: value }] });
const withdrawn = (attempt: number) => event('assistant/attempt', { attempt, outcome: 'failed' });
const call = (index: number) =>
  event('tool/call', { callId: `c${String(index)}`, index, name: 'bash', arguments: '{"command":"ls"}' });
const output = (value: string): Chunk => ({ type: 'tool-output', stream: 'stdout', text: value });

const transcriptOf = (...items: FollowItem[]) => items.reduce<Transcript>(foldTranscript, createTranscript());
const fold = (...items: FollowItem[]) => transcriptOf(...items).entries;
const texts = (...items: FollowItem[]) =>
  fold(...items).flatMap((entry) =>
    entry.kind === 'assistant' ? [entry.blocks.map((block) => block.text).join('|')] : [],
  );

describe('the transcript', () => {
  it('grows with the frames of an attempt', () => {
    expect(texts(frame(1, 0, [opened, text('Hel')]), frame(1, 2, [text('lo')]))).toEqual(['Hello']);
  });

  it('has the list of things to do as it was written last, whatever comes after it', () => {
    expect(transcriptOf().todos).toEqual([]);
    const list = (content: string) => [{ content, status: 'pending' }];
    const written = [list('look'), list('mend')].map((todos) => event('todo/write', { todos }));
    const { todos, entries } = transcriptOf(
      message('Hi'),
      ...written,
      call(0),
      withdrawn(2),
      message('Yes', 3),
    );
    expect(todos).toEqual(list('mend'));
    expect(entries.map(({ kind }) => kind)).toEqual(['assistant', 'call', 'assistant']);
  });

  it('shows a frame once that comes twice, and the rest of one that overlaps', () => {
    const first = frame(1, 0, [opened, text('a')]);
    expect(texts(first, first)).toEqual(['a']);
    expect(texts(first, frame(1, 0, [opened, text('a'), text('b')]))).toEqual(['ab']);
  });

  it('puts the stored message in the place of what was streamed', () => {
    expect(texts(frame(1, 0, [opened, text('Hel')]), message('Hello'))).toEqual(['Hello']);
    expect(texts(message('Hello'))).toEqual(['Hello']);
  });

  it('withdraws the text of an attempt that failed, and shows the next one', () => {
    const failed = [frame(1, 0, [opened, text('wrong')]), withdrawn(1)];
    expect(texts(...failed)).toEqual([]);
    expect(texts(...failed, frame(2, 0, [opened, text('right')]))).toEqual(['right']);
  });

  it('shows one attempt only, also where a withdrawal has not come', () => {
    const both = [frame(1, 0, [opened, text('wrong')]), frame(2, 0, [opened, text('right')])];
    expect(texts(...both)).toEqual(['right']);
    expect(texts(...both, frame(1, 2, [text('!')]))).toEqual(['right']);
  });

  it('adds nothing to a message that is stored', () => {
    expect(texts(message('done'), frame(1, 0, [opened, text('late')]))).toEqual(['done']);
  });

  it('keeps blocks apart, and shows the calls of a message by name', () => {
    const [entry] = fold(
      frame(1, 0, [
        { type: 'block-start', index: 0, block: 'reasoning' },
        { type: 'reasoning-delta', index: 0, text: 'hm' },
        { type: 'block-start', index: 1, block: 'tool-call' },
        { type: 'tool-call-delta', index: 1, name: 'bash', argumentsDelta: '{"a"' },
        { type: 'tool-call-delta', index: 1, argumentsDelta: ':1}' },
      ]),
    );
    expect(entry).toMatchObject({
      state: 'streaming',
      blocks: [
        { type: 'reasoning', text: 'hm' },
        { type: 'tool-call', name: 'bash', text: '{"a":1}' },
      ],
    });
  });

  it('shows the output of a call while it runs, and its result in the place of that', () => {
    const running = [call(0), frame(1, 0, [output('a')], 0), frame(1, 1, [output('b')], 0)];
    expect(fold(...running)).toMatchObject([{ kind: 'call', state: 'running', output: 'ab' }]);
    const result = event('tool/result', {
      callId: 'c0',
      content: [{ type: 'text', text: 'ab' }],
      isError: true,
      error: { name: 'Error', code: 'TOOL_ERROR' },
    });
    expect(fold(...running, result, frame(1, 2, [output('c')], 0))).toMatchObject([
      { state: 'done', output: '', result: { text: 'ab', isError: true, code: 'TOOL_ERROR' } },
    ]);
  });

  it('starts the output of a call anew where it is tried again', () => {
    const entries = fold(call(0), frame(1, 0, [output('old')], 0), frame(2, 0, [output('new')], 0));
    expect(entries).toMatchObject([{ output: 'new' }]);
  });

  it('shows what waits for a person, and how it was closed', () => {
    const asked = [
      event('approval/asked', {
        approvalId: 'a',
        callId: 'c0',
        tool: 'bash',
        arguments: '{"command":"ls"}',
        argumentsSha256: '',
        reason: 'It asks.',
        preview: { kind: 'command', text: 'ls' },
      }),
      event('question/asked', {
        questionId: 'q',
        callId: 'c1',
        questions: [{ id: 'x', question: 'Which?' }],
      }),
    ];
    const [approval, question] = fold(...asked);
    expect(approval).toMatchObject({
      kind: 'approval',
      ...PLACE,
      approvalId: 'a',
      tool: 'bash',
      arguments: '{"command":"ls"}',
      reason: 'It asks.',
      preview: { text: 'ls' },
    });
    expect(approval).not.toHaveProperty('decision');
    expect(question).toMatchObject({ kind: 'question', questionId: 'q', questions: [{ id: 'x' }] });
    expect(question).not.toHaveProperty('answer');

    const closed = fold(
      ...asked,
      event('question/answered', { questionId: 'q', outcome: 'answered', answers: [], by: 'ann' }),
      event('approval/decided', { approvalId: 'a', outcome: 'allowed', by: 'bob' }),
      event('approval/decided', { approvalId: 'other', outcome: 'denied', by: 'eve' }),
    );
    expect(closed).toMatchObject([
      { kind: 'approval', decision: { outcome: 'allowed', by: 'bob' } },
      { kind: 'question', answer: { outcome: 'answered', by: 'ann' } },
    ]);
  });

  it('shows what people wrote, and not what was added for the model', () => {
    const entries = fold(
      event('user/message', { content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } }),
      event('user/message', { content: [{ type: 'text', text: 'cwd' }], source: { kind: 'context' } }),
      event('turn/end', { reason: { kind: 'completed' } }),
    );
    expect(entries).toMatchObject([
      { kind: 'user', text: 'hi' },
      { kind: 'end', turn: 1, reason: { kind: 'completed' } },
    ]);
  });

  it('leaves the transcript before an item as it was', () => {
    const before = foldTranscript(createTranscript(), frame(1, 0, [opened, text('a')]));
    const copy = JSON.stringify(before);
    foldTranscript(before, message('b'));
    expect(JSON.stringify(before)).toBe(copy);
    expect(createTranscript().entries).toEqual([]);
  });
});
