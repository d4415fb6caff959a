/** Whole turns against a provider that others wrote: a maintained mock server that speaks both wires. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import { makeHome } from '../support/home-folder.js';
import { runCli, startServe } from '../support/serve-process.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of open.splice(0).reverse()) await stop();
});

/** Tokens as each wire names them; the mock counts none itself on the Messages wire. */
const USAGE = {
  'chat-completions': { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  messages: { input_tokens: 100, output_tokens: 10 },
};

async function startMock(wire: keyof typeof USAGE): Promise<LLMock> {
  const usage = USAGE[wire];
  const mock = new LLMock({ port: 0 });
  mock.on(
    { turnIndex: 0 },
    {
      reasoning: 'I look first.',
      reasoningSignature: 'proof==',
      content: 'I look.',
      toolCalls: [{ name: 'glob', arguments: '{"pattern":"*.txt"}' }],
      usage,
    },
  );
  mock.on(
    { turnIndex: 1 },
    {
      toolCalls: [
        { name: 'read', arguments: '{"file_path":"größe.txt"}' },
        { name: 'read', arguments: '{"file_path":"missing.txt"}' },
      ],
      usage,
    },
  );
  mock.on({ turnIndex: 2 }, { content: 'It says 漢字 🧭.', usage });
  mock.on({ turnIndex: 3 }, { content: 'Nothing more.', usage });
  await mock.start();
  open.push(() => mock.stop());
  return mock;
}

describe.each(['chat-completions', 'messages'] as const)('over %s a mock that others maintain', (wire) => {
  it('answers a turn with two rounds of tools, a retry and the turn after it', async () => {
    const mock = await startMock(wire);
    const home = makeHome(mock.url, {
      providers: {
        aimock: {
          wire,
          baseUrl: `${mock.url}/v1`,
          models: { 'mock-model': { abilities: { reasoning: true }, price: { input: 1, output: 2 } } },
        },
      },
      profiles: { default: { provider: 'aimock', model: 'mock-model', permission: 'full-access' } },
    });
    open.push(() => {
      home.remove();
    });
    writeFileSync(join(home.workspace, 'größe.txt'), 'The word is 漢字 🧭.\n');
    const serve = await startServe({ home: home.home });
    open.push(() => serve.end('SIGTERM'));
    const { client } = serve;

    mock.nextRequestError(503, { message: 'busy', type: 'overloaded_error' });
    const { id } = await client.createSession({ workspace: home.workspace });
    await client.prompt(id, { text: 'What does the file say?' });
    const turn = await client.turn(id, 1, { waitSeconds: 60 });
    expect(turn).toMatchObject({
      reason: { kind: 'completed' },
      output: 'It says 漢字 🧭.',
      steps: 3,
    });
    expect(turn.usage).toMatchObject({ inputTokens: 300, outputTokens: 30 });
    expect(turn.usage.costUsd).toBeCloseTo(0.00036, 10);
    await client.prompt(id, { text: 'And else?' });
    expect((await client.turn(id, 2, { waitSeconds: 60 })).output).toBe('Nothing more.');

    const { items } = await client.events(id, { limit: 1000 });
    expect(types(items).filter((type) => type === 'assistant/attempt')).toHaveLength(1);
    const results = items.filter((event) => event.type === 'tool/result');
    expect(results.map(({ data }) => data.error?.code)).toEqual([undefined, undefined, 'FS_NOT_FOUND']);
    expect(JSON.stringify(results[1]?.data)).toContain('The word is 漢字 🧭.');
    const reasoning = items.flatMap((event) =>
      event.type === 'assistant/message' ? event.data.content.filter(({ type }) => type === 'reasoning') : [],
    );
    expect(reasoning).toMatchObject([{ text: 'I look first.' }]);
    expect(mock.getRequests()).toHaveLength(5);

    // The same program prints what it had sent.
    const printed = await runCli(['export', id, '--request', '1/3', '--server', serve.url]);
    expect(printed).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(printed.stdout)).toMatchObject({ model: 'mock-model', stream: true });
    expect(printed.stdout).toContain('The word is 漢字 🧭.');
  });
});

const types = (events: readonly SessionEvent[]) => events.map(({ type }) => type);
