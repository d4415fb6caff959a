import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../../src/contract/messages.js';
import { ScriptedModelServer, type Reply } from '../support/scripted-model-server.js';
import {
  adapterAt,
  API_KEY,
  attempt,
  blobs,
  callsOf,
  digest,
  playTurn,
  requestOf,
  says,
  WIRES,
  type ModelOptions,
} from './both-wires.js';

const servers: ScriptedModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(
  script: readonly Reply[],
  options: { thinking?: boolean } = {},
): Promise<ScriptedModelServer> {
  const server = await ScriptedModelServer.start({ script, apiKey: API_KEY, ...options });
  servers.push(server);
  return server;
}

describe.each(WIRES)('a conversation over %s', (wire) => {
  const adapter = (server: ScriptedModelServer, options?: ModelOptions) =>
    adapterAt(server.url, wire, options);

  it('goes through three tool rounds and parallel calls to an answer', async () => {
    const server = await start([
      { text: 'First.', calls: [{ name: 'read', arguments: { path: 'a' } }] },
      {
        calls: [
          { name: 'read', arguments: { path: 'b' } },
          { name: 'glob', arguments: { path: 'c' } },
          { name: 'read', arguments: '' },
        ],
        interleave: true,
      },
      { calls: [{ name: 'glob', arguments: '{"path":' }] },
      { text: 'All done.' },
    ]);
    const run = [] as string[];
    const messages = await playTurn(adapter(server), [says('Go'), says('and be quick', 2)], (call) => {
      run.push(`${call.name} ${JSON.stringify(call.arguments)}`);
      return call.name === 'glob' ? [] : [{ type: 'text', text: `ran ${call.callId}` }];
    });
    expect(server.refusals).toEqual([]);
    expect(server.requests).toHaveLength(4);
    expect(run).toEqual([
      'read "{\\"path\\":\\"a\\"}"',
      'read "{\\"path\\":\\"b\\"}"',
      'glob "{\\"path\\":\\"c\\"}"',
      'read ""',
      'glob "{\\"path\\":"',
    ]);
    expect(messages.at(-1)?.content).toEqual([{ type: 'text', text: 'All done.' }]);
    expect(server.requests[3]?.raw).toContain('(no output)');
  });

  it('replaces a call id that is empty or was used before', async () => {
    const server = await start([
      { calls: [{ id: 'same', name: 'read', arguments: {} }] },
      {
        calls: [
          { id: 'same', name: 'read', arguments: {} },
          { id: '', name: 'glob', arguments: {} },
        ],
      },
      { text: 'Done.' },
    ]);
    const messages = await playTurn(adapter(server), [says('Go')], () => [{ type: 'text', text: 'ok' }]);
    expect(server.refusals).toEqual([]);
    expect(new Set(messages.flatMap(callsOf).map(({ callId }) => callId)).size).toBe(3);
  });

  it('carries text in any script, and text that is no Unicode, there and back', async () => {
    const text = 'naïve 漢字 🧭👩‍👩‍👧 \u0000 "quoted" \\ back\u2028line';
    const server = await start([{ text, pieces: 7, splitBytes: 1 }]);
    const { content } = await attempt(adapter(server), requestOf([says(`${text} \ud800`)]));
    expect(content).toEqual([{ type: 'text', text }]);
    expect(server.refusals).toEqual([]);
    expect(server.requests[0]?.raw).toContain('\uFFFD');
  });

  it('takes reasoning, and sends it back where the provider wants it', async () => {
    const script: Reply[] = [
      { reasoning: 'I should read.', signature: 'proof==', calls: [{ name: 'read', arguments: {} }] },
      { calls: [{ name: 'read', arguments: {} }] },
      { text: 'Done.' },
    ];
    const server = await start(script, { thinking: true });
    const options = { provider: 'my-deepseek', reasoning: true };
    const messages = await playTurn(adapter(server, options), [says('Go')], () => [
      { type: 'text', text: 'ok' },
    ]);
    expect(server.refusals).toEqual([]);
    expect(messages[1]?.content[0]).toMatchObject({ type: 'reasoning', text: 'I should read.' });
    expect(server.requests[2]?.raw).toContain('I should read.');
    if (wire === 'messages') expect(server.requests[2]?.raw).toContain('"signature":"proof=="');
  });

  it('shows an image to a model that sees and names it to one that does not', async () => {
    const readBlob = blobs({ [digest('a')]: Uint8Array.of(137, 80, 78, 71) });
    const messages: Message[] = [
      {
        seq: 1,
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', blob: digest('a'), mediaType: 'image/png' },
        ],
      },
    ];
    const server = await start([{ text: 'A dot.' }, { text: 'Who knows.' }]);
    await attempt(adapter(server, { images: true }), requestOf(messages), { readBlob });
    await attempt(adapter(server), requestOf(messages), { readBlob });
    expect(server.refusals).toEqual([]);
    expect(server.requests[0]?.raw).toContain('iVBORw==');
    expect(server.requests[1]?.raw).not.toContain('iVBORw==');
    expect(server.requests[1]?.raw).toContain('An image (image/png) is left out');
  });

  it('shows the image of a tool result to a model that sees', async () => {
    const readBlob = blobs({ [digest('a')]: Uint8Array.of(137, 80, 78, 71) });
    const server = await start([{ text: 'A dot.' }]);
    const messages: Message[] = [
      says('Go'),
      {
        seq: 2,
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'a' as never, name: 'read', arguments: '{}' }],
      },
      {
        seq: 3,
        role: 'user',
        content: [
          {
            type: 'tool-result',
            callId: 'a' as never,
            isError: false,
            content: [{ type: 'image', blob: digest('a'), mediaType: 'image/png' }],
          },
        ],
      },
    ];
    await attempt(adapter(server, { images: true }), requestOf(messages), { readBlob });
    expect(server.refusals).toEqual([]);
    expect(server.requests[0]?.raw).toContain('iVBORw==');
  });

  it('gives back in full a text and arguments that were moved to the blob store', async () => {
    const blob = (character: string) => ({
      type: 'blob' as const,
      sha256: digest(character),
      bytes: 9,
      mediaType: 'text/plain',
      head: 'h',
      tail: 't',
    });
    const readBlob = blobs({
      [digest('a')]: 'the whole text',
      [digest('b')]: '{"path":"whole"}',
      [digest('c')]: 'the whole result',
    });
    const server = await start([{ text: 'Fine.' }]);
    const messages: Message[] = [
      { seq: 1, role: 'user', content: [blob('a')] },
      {
        seq: 2,
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'x' as never, name: 'read', arguments: blob('b') }],
      },
      {
        seq: 3,
        role: 'user',
        content: [{ type: 'tool-result', callId: 'x' as never, isError: true, content: [blob('c')] }],
      },
    ];
    await attempt(adapter(server), requestOf(messages), { readBlob });
    expect(server.refusals).toEqual([]);
    for (const part of ['the whole text', 'whole', 'the whole result']) {
      expect(server.requests[0]?.raw).toContain(part);
    }
  });

  it('takes back a history that another provider would refuse', async () => {
    const server = await start([{ text: 'Fine.' }]);
    const messages: Message[] = [
      says('Go'),
      { seq: 2, role: 'assistant', content: [{ type: 'reasoning', text: 'only thoughts' }] },
      says('  ', 3),
      {
        seq: 4,
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'other', replay: 'elsewhere/signature/abc' },
          { type: 'text', text: ' ' },
          { type: 'tool-call', callId: 'functions.read:0' as never, name: 'read the file', arguments: '[1]' },
        ],
      },
      says('meanwhile', 5),
      {
        seq: 6,
        role: 'user',
        content: [{ type: 'tool-result', callId: 'functions.read:0' as never, isError: true, content: [] }],
      },
    ];
    await attempt(adapter(server), requestOf(messages));
    expect(server.refusals).toEqual([]);
    expect(server.requests[0]?.raw).not.toContain('elsewhere');
  });

  it('drops the calls of an answer that was cut by the token limit', async () => {
    const finish = wire === 'messages' ? 'max_tokens' : 'length';
    const server = await start([{ text: 'I will', calls: [{ name: 'read', arguments: '{"pa' }], finish }]);
    const { content, assembler } = await attempt(adapter(server), requestOf([says('Go')]));
    expect(assembler.finish).toBe('max-tokens');
    expect(content).toEqual([{ type: 'text', text: 'I will' }]);
  });

  it('reports usage in disjoint parts, with its cost', async () => {
    const server = await start([{ text: 'Yes', usage: { input: 1000, cacheRead: 400, output: 50 } }]);
    const { assembler } = await attempt(adapter(server), requestOf([says('Go')]));
    expect(assembler.usage).toEqual({
      inputTokens: 1000,
      cacheReadTokens: 400,
      cacheWriteTokens: 0,
      outputTokens: 50,
      reasoningTokens: 0,
      costUsd: (1000 + 400 + 2 * 50) / 1e6,
    });
  });

  it('sends every parameter that is set, in its spelling', async () => {
    const server = await start([{ text: 'Yes' }]);
    const parameters = { temperature: 0.5, maxTokens: 3000, stop: ['END'], reasoningEffort: 'high' };
    await attempt(adapter(server), requestOf([says('Go')], { parameters }));
    expect(server.refusals).toEqual([]);
    expect(server.requests[0]?.body).toMatchObject(
      wire === 'messages'
        ? { max_tokens: 3000, stop_sequences: ['END'], thinking: { type: 'enabled', budget_tokens: 1976 } }
        : { max_tokens: 3000, stop: ['END'], temperature: 0.5, reasoning_effort: 'high' },
    );
  });

  it('sends the same bytes for the same request', async () => {
    const server = await start([{ text: 'Yes' }, { text: 'Yes' }]);
    const subject = adapter(server);
    await attempt(subject, requestOf([says('Go')]));
    await attempt(subject, requestOf([says('Go')]));
    expect(server.requests[1]?.raw).toBe(server.requests[0]?.raw);
  });
});
