import { describe, expect, it } from 'vitest';
import { TranscriptPrinter } from '../../../src/cli/transcript-printer.js';
import type { FollowItem } from '../../../src/client/follow.js';
import type { SessionEvent } from '../../../src/contract/events.js';
import { fakeIo } from './fake-io.js';

const event = (type: SessionEvent['type'], data: unknown): FollowItem => ({
  type: 'event',
  id: '0',
  event: { sessionId: 's', seq: 0, at: '', turn: 1, step: 1, type, data } as unknown as SessionEvent,
});
const text = (value: string): FollowItem => ({
  type: 'frame',
  id: '0+1',
  frame: {
    frame: 1,
    turn: 1,
    step: 1,
    attempt: 1,
    index: 0,
    chunks: [{ type: 'text-delta', index: 0, text: value }],
  },
});
const message = (value: string) => event('assistant/message', { content: [{ type: 'text', text: value }] });
const failed = event('assistant/attempt', { attempt: 1, outcome: 'failed' });

async function printed(items: FollowItem[], options: { streams?: boolean; terminal?: boolean } = {}) {
  const io = fakeIo({ isTerminal: { out: options.terminal === true } });
  const printer = new TranscriptPrinter({
    text: io.stdout,
    notes: io.stderr,
    streams: options.streams !== false,
  });
  for (const item of items) await printer.print(item);
  return { ...io.written, last: printer.lastMessage };
}

describe('printing a session', () => {
  it('streams text as it comes and adds what the message has beyond it', async () => {
    expect(await printed([text('Hel'), text('lo'), message('Hello')])).toMatchObject({
      out: 'Hello\n',
      last: 'Hello',
    });
    expect((await printed([text('Hel'), message('Hello, you\n')])).out).toBe('Hello, you\n');
  });

  it('says that a text is withdrawn, and prints the one that counts', async () => {
    const { out, err } = await printed([text('wrong'), failed, text('right'), message('right')]);
    expect(out).toBe('wrong\nright\n');
    expect(err).toContain('withdrawn');
  });

  it('says nothing of a withdrawal where nothing was shown', async () => {
    expect((await printed([failed])).err).toBe('');
  });

  it('prints messages only where it does not stream', async () => {
    const items = [text('wrong'), failed, text('right'), message('right')];
    expect(await printed(items, { streams: false })).toMatchObject({ out: 'right\n', err: '' });
  });

  it('keeps what would steer a terminal from it, and changes nothing in a pipe', async () => {
    const nasty = 'a\u001b]0;title\u0007b\tc\n';
    expect((await printed([message(nasty)], { terminal: true })).out).toBe('a]0;titleb\tc\n');
    expect((await printed([message(nasty)])).out).toBe(nasty);
  });

  it('notes calls, results and retries in one line each', async () => {
    const { err } = await printed([
      event('tool/call', { name: 'bash', arguments: '{"command":\n "ls"}' }),
      event('tool/result', { content: [{ type: 'text', text: 'a\nb' }], isError: false }),
      event('tool/result', { content: [], isError: true, error: { code: 'DENIED' } }),
      event('llm/retry', { attempt: 1, code: 'SERVER', delayMs: 500 }),
    ]);
    expect(err.split('\n')).toEqual([
      '  bash {"command": "ls"}',
      '    ok: a b',
      '    DENIED: ',
      '  retry 1 after SERVER, in 500 ms',
      '',
    ]);
  });

  it('shows what a running call writes, indented, and its result below', async () => {
    const output = (...texts: string[]): FollowItem => ({
      type: 'frame',
      id: '0+1',
      frame: {
        frame: 1,
        turn: 1,
        step: 1,
        attempt: 1,
        call: 0,
        index: 0,
        chunks: texts.map((chunk) => ({ type: 'tool-output', stream: 'stdout', text: chunk })),
      },
    });
    const items = [
      event('tool/call', { name: 'bash', arguments: '{}' }),
      output('one\ntw', 'o\n'),
      output('10%\r20%\u001b[2K'),
      event('tool/result', { content: [{ type: 'text', text: 'done' }], isError: false }),
    ];
    expect((await printed(items)).err.split('\n')).toEqual([
      '  bash {}',
      '    one',
      '    two',
      '    10%',
      '    20%[2K',
      '    ok: done',
      '',
    ]);
    expect((await printed(items, { streams: false })).err).toBe('  bash {}\n    ok: done\n');
  });

  it('notes the list of things to do', async () => {
    const { err } = await printed([
      event('todo/write', {
        todos: [
          { content: 'look', status: 'completed' },
          { content: 'mend\nit', status: 'in_progress' },
          { content: 'rest', status: 'pending' },
        ],
      }),
    ]);
    expect(err).toBe('    [x] look\n    [>] mend it\n    [ ] rest\n');
  });

  it('spells out in the line of a call what a terminal would obey or hide', async () => {
    const { err } = await printed([
      event('tool/call', { name: 'bash', arguments: 'ls\u202e \u001b[2K' }),
      event('tool/result', { content: [{ type: 'text', text: 'a\u200bb' }], isError: false }),
    ]);
    expect(err).toBe('  bash ls\\u202e \\u001b[2K\n    ok: a\\u200bb\n');
  });

  it('notes what is asked, by which command it is answered, and how it was closed', async () => {
    const { err } = await printed([
      event('approval/asked', {
        approvalId: 'a1',
        tool: 'bash',
        reason: 'It asks.',
        preview: { kind: 'command', text: 'ls\u001b[1A\nrm' },
      }),
      event('question/asked', { questionId: 'q1', questions: [{ id: 'q', question: 'Which?' }] }),
      event('approval/decided', { approvalId: 'a1', outcome: 'denied', by: 'ann', note: 'no' }),
      event('question/answered', { questionId: 'q1', outcome: 'expired', by: 'turnkeeper' }),
    ]);
    expect(err.split('\n')).toEqual([
      '  ? bash: It asks.',
      '    ls\\u001b[1A rm',
      '    turnkeeper approvals allow a1',
      '  ? Which?',
      '    turnkeeper questions answer q1',
      '    approval denied by ann: no',
      '    question expired',
      '',
    ]);
  });
});
