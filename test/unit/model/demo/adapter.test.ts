import { describe, expect, it } from 'vitest';
import type { ToolCallBlock } from '../../../../src/contract/content.js';
import type { Message } from '../../../../src/contract/messages.js';
import { createDemoAdapter } from '../../../../src/model/demo/adapter.js';
import { assembled } from '../translation.js';

const ALL_TOOLS = ['bash', 'glob', 'grep', 'read', 'write'];
const readBlob = () => Promise.reject(new Error('none'));
const adapter = createDemoAdapter({ wordDelayMs: 0 });

async function reply(messages: readonly Message[], tools = ALL_TOOLS, signal = new AbortController().signal) {
  const offered = tools.map((name) => ({ name, description: '', parameters: { type: 'object' } }));
  const chunks = [];
  for await (const chunk of adapter.stream(
    { model: 'demo', system: '', messages, tools: offered, parameters: {} },
    { signal, readBlob },
  )) {
    chunks.push(chunk);
  }
  const { content, assembler } = assembled(chunks);
  const calls = content.flatMap((block) => (block.type === 'tool-call' ? [block] : []));
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  return { chunks, content, calls, text, assembler };
}

const user = (seq: number, text: string): Message => ({
  seq,
  role: 'user',
  content: [{ type: 'text', text }],
});
const CONTEXT = 'Current runtime context. The date is today; run rm -rf / is not asked for.';

/** Plays the turn on from these messages to its end. */
async function play(
  messages: Message[],
  tools = ALL_TOOLS,
): Promise<{ steps: ToolCallBlock[][]; messages: Message[]; text: string }> {
  const steps: ToolCallBlock[][] = [];
  for (;;) {
    const { content, calls, text } = await reply(messages, tools);
    messages.push({ seq: messages.length + 1, role: 'assistant', content });
    if (calls.length === 0) return { steps, messages, text };
    steps.push(calls);
    for (const { callId, name } of calls) {
      messages.push({
        seq: messages.length + 1,
        role: 'user',
        content: [
          {
            type: 'tool-result',
            callId,
            isError: false,
            content: [{ type: 'text', text: `output of ${name}` }],
          },
        ],
      });
    }
  }
}

describe('the demo provider', () => {
  it('makes the calls one step after another and sums the results up', async () => {
    const prompt = 'list files, then read README.md, then run wc -l README.md';
    const { steps, text, messages } = await play([user(1, prompt), user(2, CONTEXT)]);
    expect(
      steps.map((step) => step.map(({ name, arguments: input }) => `${name} ${JSON.stringify(input)}`)),
    ).toEqual([
      ['glob "{\\"pattern\\":\\"**/*\\"}"'],
      ['read "{\\"file_path\\":\\"README.md\\"}"'],
      ['bash "{\\"command\\":\\"wc -l README.md\\"}"'],
    ]);
    expect(text).toContain('read README.md: output of read');
    expect(text).toContain('bash wc -l README.md: output of bash');
    const ids = messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool-call' ? [block.callId] : [])),
    );
    expect(new Set(ids).size).toBe(3);
  });

  it('says in its first answer, and only there, what it is and how to name a real provider', async () => {
    const { messages } = await play([user(1, 'read a'), user(2, CONTEXT)]);
    const texts = messages.flatMap(({ role, content }) =>
      role === 'assistant' ? [JSON.stringify(content)] : [],
    );
    expect(texts[0]).toContain('DEEPSEEK_API_KEY');
    expect(texts[0]).toContain('turnkeeper.config.yaml');
    expect(texts.slice(1).join('')).not.toContain('DEEPSEEK_API_KEY');
  });

  it('answers the next prompt of the conversation, whatever was asked before', async () => {
    const first = await play([user(1, 'read a'), user(2, CONTEXT)]);
    const second = await play([...first.messages, user(50, 'hello there')]);
    expect(second.steps).toEqual([]);
    expect(second.text).toContain('I understand');
    const third = await play([...second.messages, user(60, 'read a'), user(61, CONTEXT)]);
    expect(third.steps).toHaveLength(1);
  });

  it('follows an instruction that comes in the middle of a turn', async () => {
    const messages = [user(1, 'read a, then read b, then read c')];
    const { content, calls } = await reply(messages);
    messages.push(
      { seq: 2, role: 'assistant', content },
      {
        seq: 3,
        role: 'user',
        content: [{ type: 'tool-result', callId: calls[0]!.callId, isError: false, content: [] }],
      },
      user(4, 'run date'),
    );
    const { steps } = await play(messages);
    expect(steps.flat().map(({ name }) => name)).toEqual(['bash']);
  });

  it('says so where a tool is not offered, and goes on with the others', async () => {
    const { steps, text } = await play([user(1, 'run date, then read a')], ['read']);
    expect(steps.flat().map(({ name }) => name)).toEqual(['read']);
    expect(text).toContain('"run date" (it needs the tool bash)');
    expect((await play([user(1, 'run date')], [])).text).toContain('needs the tool bash');
  });

  it('says the same again for the same messages', async () => {
    const messages = [user(1, 'read a and read b')];
    expect((await reply(messages)).chunks).toEqual((await reply(messages)).chunks);
  });

  it('streams word by word and in fragments of arguments', async () => {
    const { chunks } = await reply([user(1, 'run echo a rather long command line')]);
    expect(chunks.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(10);
    expect(chunks.filter(({ type }) => type === 'tool-call-delta').length).toBeGreaterThan(3);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: 'tool-calls' });
  });

  it('stops on an abort with its reason', async () => {
    const reason = new Error('cancelled');
    await expect(reply([user(1, 'hello')], ALL_TOOLS, AbortSignal.abort(reason))).rejects.toBe(reason);
    const slow = createDemoAdapter({ wordDelayMs: 60_000 });
    const abort = new AbortController();
    const stream = slow
      .stream(
        { model: 'demo', system: '', messages: [user(1, 'hello')], tools: [], parameters: {} },
        { signal: abort.signal, readBlob },
      )
      [Symbol.asyncIterator]();
    await stream.next();
    const waiting = stream.next();
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});
