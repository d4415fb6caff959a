import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ToolDefinition } from '../../../src/contract/messages.js';
import { BUILT_IN_TOOLS } from '../../../src/tools/built-in-tools.js';
import { canonicalToolJson, createToolRegistry } from '../../../src/tools/registry.js';
import { defineTool } from '../../../src/tools/tool.js';

const named = (name: string, parameters: z.ZodType<object> = z.strictObject({})) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    parameters,
    effect: 'read',
    permission: 'none',
    concurrency: () => 'parallel',
    execute: async () => ({ content: name }),
  });

describe('the registry', () => {
  it('has its tools in the order of their names, whatever order they came in', () => {
    const tools = [named('b'), named('B'), named('a_b'), named('a')];
    expect(createToolRegistry(tools).names()).toEqual(['B', 'a', 'a_b', 'b']);
    expect(createToolRegistry(tools.reverse()).offered('*')).toEqual(createToolRegistry(tools).offered('*'));
  });

  it('offers the tools of a selection and leaves out names that do not exist', () => {
    const registry = createToolRegistry([named('b'), named('a')]);
    expect(registry.offered(['b', 'nothing']).map(({ name }) => name)).toEqual(['b']);
    expect(registry.names([])).toEqual([]);
  });

  it.each(['', 'with space', 'a/b', 'x'.repeat(65)])('refuses the name %j', (name) => {
    expect(() => createToolRegistry([named(name)])).toThrow('must be 1 to 64');
  });

  it('refuses a name that is taken', () => {
    expect(() => createToolRegistry([named('a'), named('a')])).toThrow('two tools named "a"');
  });
});

describe('an offered tool', () => {
  const schema = z.strictObject({ zeta: z.string(), alpha: z.number().default(3) });

  it('has the JSON Schema of what the model must send, with sorted keys', () => {
    const [offered] = createToolRegistry([named('a', schema)]).offered('*');
    expect(JSON.stringify(offered?.parameters)).toBe(
      '{"additionalProperties":false,"properties":{"alpha":{"default":3,"type":"number"},"zeta":{"type":"string"}},"required":["zeta"],"type":"object"}',
    );
  });

  it('has the digest of its canonical JSON, out of which the same definition comes again', () => {
    const [offered] = createToolRegistry([named('a', schema)]).offered('*');
    const json = canonicalToolJson(offered!);
    expect(createHash('sha256').update(json).digest('hex')).toBe(offered?.sha256);
    const again = JSON.parse(json) as ToolDefinition;
    expect({ ...again, sha256: offered?.sha256 }).toEqual(offered);
    expect(JSON.stringify(again.parameters)).toBe(JSON.stringify(offered?.parameters));
  });
});

describe('the built-in tools', () => {
  it('tell their limits and are told apart by effect and permission', () => {
    expect(
      BUILT_IN_TOOLS.map(({ name, effect, permission, quick = false }) => [name, effect, permission, quick]),
    ).toEqual([
      ['ask_user_question', 'read', 'none', false],
      ['bash', 'effect', 'shell', false],
      ['edit', 'effect', 'write', false],
      ['glob', 'read', 'read', true],
      ['grep', 'read', 'read', false],
      ['job_kill', 'idempotent', 'none', false],
      ['job_output', 'read', 'none', false],
      ['read', 'read', 'read', true],
      ['todo_write', 'idempotent', 'none', false],
      ['web_fetch', 'read', 'network', false],
      ['write', 'idempotent', 'write', false],
    ]);
  });

  it('have object schemas that take nothing unknown', () => {
    for (const { parameters } of createToolRegistry(BUILT_IN_TOOLS).offered('*')) {
      expect(parameters).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });
});
