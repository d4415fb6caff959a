import { describe, expect, it } from 'vitest';
import { providerEntrySchema } from '../../../src/contract/configuration.js';
import type { CallId } from '../../../src/contract/ids.js';
import type { ModelRequest } from '../../../src/contract/messages.js';
import { createModelCatalog } from '../../../src/model/model-catalog.js';
import { serializeRequest } from '../../../src/model/serialize-request.js';

const readBlob = () => Promise.reject(new Error('no blobs here'));
const callId = 'call_1' as CallId;
const REQUEST: ModelRequest = {
  model: 'm',
  system: 'Be brief.',
  tools: [{ name: 'read', description: 'Reads', parameters: { type: 'object' } }],
  parameters: {},
  messages: [
    { seq: 1, role: 'user', content: [{ type: 'text', text: 'Go' }] },
    {
      seq: 2,
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm', replay: 'p/signature/proof' },
        { type: 'tool-call', callId, name: 'read', arguments: '{"b":1, "a":2}' },
      ],
    },
    { seq: 3, role: 'user', content: [{ type: 'text', text: 'Also' }] },
    { seq: 4, role: 'user', content: [{ type: 'tool-result', callId, content: [], isError: true }] },
  ],
};

/** The body as the provider's adapter sends it. */
function bodyOf(wire: 'chat-completions' | 'messages', name: string, reasoning: boolean, request = REQUEST) {
  const entry = providerEntrySchema.parse({
    wire,
    baseUrl: 'http://127.0.0.1:1',
    models: { m: { maxTokens: 5000, abilities: { reasoning } } },
  });
  const { adapter } = createModelCatalog({ [name]: entry }, {}).resolve(name, 'm')!;
  return serializeRequest(adapter, request, readBlob);
}

describe('the body of a request', () => {
  it('is exactly this on the chat completions wire', async () => {
    expect(await bodyOf('chat-completions', 'p', false)).toBe(
      '{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Go"},' +
        '{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read",' +
        '"arguments":"{\\"b\\":1, \\"a\\":2}"}}]},{"role":"tool","tool_call_id":"call_1","content":"(no output)"},' +
        '{"role":"user","content":"Also"}],"stream":true,"stream_options":{"include_usage":true},' +
        '"tools":[{"type":"function","function":{"name":"read","description":"Reads","parameters":{"type":"object"}}}]}',
    );
  });

  it('is exactly this on the Messages wire', async () => {
    expect(await bodyOf('messages', 'p', false)).toBe(
      '{"model":"m","max_tokens":5000,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text",' +
        '"text":"Go"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"proof"},' +
        '{"type":"tool_use","id":"call_1","name":"read","input":{"b":1,"a":2}}]},{"role":"user","content":[' +
        '{"type":"tool_result","tool_use_id":"call_1","content":"(no output)","is_error":true},' +
        '{"type":"text","text":"Also"}]}],"stream":true,"tools":[{"name":"read","description":"Reads",' +
        '"input_schema":{"type":"object"}}]}',
    );
  });

  it('carries reasoning_content where the model reasons, and none where it is told not to', async () => {
    expect(await bodyOf('chat-completions', 'p', true)).toContain('"content":"","reasoning_content":"Hm"');
    const quiet = { ...REQUEST, parameters: { reasoningEffort: 'none' } };
    expect(await bodyOf('chat-completions', 'p', true, quiet)).not.toContain('reasoning_content');
  });

  it("leaves out reasoning that another provider signed, except on DeepSeek's Messages wire", async () => {
    expect(await bodyOf('messages', 'other', true)).not.toContain('thinking');
    expect(await bodyOf('messages', 'deepseek-proxy', true)).toContain(
      '{"type":"thinking","thinking":"Hm","signature":""}',
    );
  });

  it.each([
    ['chat-completions', 'p', 'high', { reasoning_effort: 'high' }],
    ['chat-completions', 'p', 'none', { reasoning_effort: 'none' }],
    [
      'chat-completions',
      'deepseek-proxy',
      'high',
      { reasoning_effort: 'high', thinking: { type: 'enabled' } },
    ],
    ['chat-completions', 'deepseek-proxy', 'none', { thinking: { type: 'disabled' } }],
    ['messages', 'p', 'high', { thinking: { type: 'enabled', budget_tokens: 3976 } }],
    ['messages', 'p', 'none', { thinking: { type: 'disabled' } }],
    [
      'messages',
      'deepseek-proxy',
      'max',
      { thinking: { type: 'enabled' }, output_config: { effort: 'max' } },
    ],
  ] as const)('over %s to %s spells the effort %s as %j', async (wire, name, reasoningEffort, expected) => {
    const body: unknown = JSON.parse(
      await bodyOf(wire, name, true, { ...REQUEST, parameters: { reasoningEffort } }),
    );
    expect(body).toMatchObject(expected);
  });

  it('asks for no more tokens than the model gives', async () => {
    for (const wire of ['chat-completions', 'messages'] as const) {
      const body = await bodyOf(wire, 'p', false, { ...REQUEST, parameters: { maxTokens: 9000 } });
      expect(JSON.parse(body)).toMatchObject({ max_tokens: 5000 });
    }
  });

  it('offers no tools where there are none', async () => {
    for (const wire of ['chat-completions', 'messages'] as const) {
      expect(await bodyOf(wire, 'p', false, { ...REQUEST, tools: [] })).not.toContain('"tools"');
    }
  });
});
