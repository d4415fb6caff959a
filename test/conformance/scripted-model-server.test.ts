import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ScriptedModelServer } from '../support/scripted-model-server.js';

let server: ScriptedModelServer;
beforeAll(async () => {
  server = await ScriptedModelServer.start({ script: () => ({ text: 'Yes' }) });
});
afterAll(() => server.close());

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

describe('the scripted server on chat completions', () => {
  const user = { role: 'user', content: 'Go' };
  const call = (id: string, input = '{}', name = 'read') => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  });
  const calling = (...calls: object[]) => ({ role: 'assistant', content: '', tool_calls: calls });
  const result = (id: string, content: string | null = 'ok') => ({ role: 'tool', tool_call_id: id, content });
  const tool = {
    type: 'function',
    function: { name: 'read', description: '', parameters: { type: 'object' } },
  };
  const send = (messages: unknown[], rest: object = {}) =>
    post('/chat/completions', {
      model: 'm',
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...rest,
    });

  it('takes what real providers take', async () => {
    const messages = [
      { role: 'system', content: 'S' },
      user,
      calling(call('a'), call('b')),
      result('b'),
      result('a'),
      user,
    ];
    expect(await send(messages, { tools: [tool], temperature: 0 })).toBe(200);
  });

  it.each<[string, unknown[], object?]>([
    ['a call without a result', [user, calling(call('a'))]],
    ['a call whose result is not right after it', [user, calling(call('a')), user, result('a')]],
    ['a call with two results', [user, calling(call('a')), result('a'), result('a')]],
    ['a result without a call', [user, result('a')]],
    ['a call id that comes twice', [user, calling(call('a')), result('a'), calling(call('a')), result('a')]],
    ['arguments that are no object', [user, calling(call('a', '[]')), result('a')]],
    ['arguments that are no JSON', [user, calling(call('a', '{"a')), result('a')]],
    ['a name with a blank in it', [user, calling(call('a', '{}', 'read it')), result('a')]],
    ['an empty result', [user, calling(call('a')), result('a', '')]],
    [
      'content that is null',
      [user, { role: 'assistant', content: null, tool_calls: [call('a')] }, result('a')],
    ],
    ['an assistant message with nothing in it', [user, { role: 'assistant', content: '' }, user]],
    ['a system message in the middle', [user, { role: 'system', content: 'S' }]],
    ['an assistant message at the start', [{ role: 'assistant', content: 'Hi' }, user]],
    ['an assistant message at the end', [user, { role: 'assistant', content: 'Hi' }]],
    ['no messages', []],
    ['an empty list of tools', [user], { tools: [] }],
    ['a tool twice', [user], { tools: [tool, tool] }],
    ['an unknown field', [user], { foo: 1 }],
    ['a field that is null', [user], { temperature: null }],
    ['no usage asked for', [user], { stream_options: {} }],
    ['a lone surrogate', [{ role: 'user', content: '\ud800' }]],
  ])('refuses %s', async (_name, messages, rest) => {
    expect(await send(messages, rest)).toBe(400);
  });
});

describe('the scripted server on Messages', () => {
  const user = { role: 'user', content: [{ type: 'text', text: 'Go' }] };
  const use = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'read', input });
  const calling = (...blocks: object[]) => ({ role: 'assistant', content: blocks });
  const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' });
  const results = (...blocks: object[]) => ({ role: 'user', content: blocks });
  const send = (messages: unknown[], rest: object = {}) =>
    post(
      '/v1/messages',
      { model: 'm', max_tokens: 10, messages, stream: true, ...rest },
      { 'anthropic-version': '2023-06-01' },
    );

  it('takes what real providers take', async () => {
    const text = { type: 'text', text: 'and' };
    expect(await send([user, calling(use('a'), use('b')), results(result('a'), result('b'), text)])).toBe(
      200,
    );
  });

  it.each<[string, unknown[], object?]>([
    ['two user messages in a row', [user, user]],
    ['an assistant message at the start', [calling({ type: 'text', text: 'Hi' }), user]],
    ['a call without a result', [user, calling(use('a')), user]],
    ['text before a result', [user, calling(use('a')), results({ type: 'text', text: 'x' }, result('a'))]],
    ['a result without a call', [user, calling({ type: 'text', text: 'x' }), results(result('a'))]],
    ['input that is no object', [user, calling(use('a', [])), results(result('a'))]],
    ['a blank text', [{ role: 'user', content: [{ type: 'text', text: ' ' }] }]],
    ['an empty message', [{ role: 'user', content: [] }]],
    ['thinking without a signature', [user, calling({ type: 'thinking', thinking: 'x' }), user]],
    ['no max_tokens', [user], { max_tokens: undefined }],
    [
      'a budget that max_tokens cannot hold',
      [user],
      { max_tokens: 1500, thinking: { type: 'enabled', budget_tokens: 2000 } },
    ],
  ])('refuses %s', async (_name, messages, rest) => {
    expect(await send(messages, rest)).toBe(400);
  });

  it('refuses a path with the version twice', async () => {
    expect(await post('/v1/v1/messages', {}, { 'anthropic-version': '2023-06-01' })).toBe(400);
  });
});
