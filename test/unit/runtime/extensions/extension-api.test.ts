import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as mini from 'zod/mini';
import {
  defineHook,
  defineTool,
  type Extension,
  type HookCall,
  type SessionEvent,
  type ToolContext,
  z,
} from '../../../../src/runtime/extensions/extension-api.js';
import { readContribution } from '../../../../src/runtime/extensions/read-contribution.js';
import { createToolRegistry } from '../../../../src/tools/registry.js';

// The types are checked by the compiler, as a part of this folder; the tests check that what they allow is accepted.

describe('the entry of the package', () => {
  it('is the extension API, with its types', () => {
    const root = new URL('../../../../', import.meta.url);
    const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
      exports: { '.': { types: string; default: string } };
    };
    const { types, default: entry } = manifest.exports['.'];
    const source = entry.replace(/^\.\/dist\/(.*)\.js$/, 'src/$1.ts');
    expect(source).toMatch(/extension-api\.ts$/);
    expect(existsSync(new URL(source, root))).toBe(true);
    expect(types).toBe(entry.replace(/\.js$/, '.d.ts'));
  });
});

describe('a typed tool', () => {
  it('gets its arguments as its schema leaves them', () => {
    const contribution = defineTool({
      name: 'repeat',
      description: 'Repeats.',
      parameters: z.strictObject({ text: z.string(), times: z.number().default(2) }),
      effect: 'read',
      permission: 'none',
      timeoutMs: ({ times }) => times * 1000,
      execute: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<{ text: string; times: number }>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        return { content: args.text.repeat(args.times), meta: { concludesTurn: true } };
      },
    });
    expect(readContribution(contribution).kind).toBe('tool');
  });

  it('has to say what it touches', () => {
    const silent = { name: 'a', description: 'A.', parameters: z.strictObject({}), effect: 'read' } as const;
    // @ts-expect-error there is no default for the permission
    const contribution = defineTool({ ...silent, execute: () => ({ content: '' }) });
    expect(readContribution(contribution).kind).toBe('wrong');
  });
});

describe('the schema of a tool', () => {
  const read = (parameters: unknown) =>
    readContribution({
      kind: 'tool',
      tool: {
        name: 'a',
        description: 'A.',
        effect: 'read',
        permission: 'none',
        parameters,
        execute: () => {},
      },
    });

  it('may be one of zod/mini', () => {
    const contribution = read(mini.strictObject({ word: mini.string() }));
    if (contribution.kind !== 'tool') throw new Error(JSON.stringify(contribution));
    expect(createToolRegistry([contribution.tool]).offered('*')).toMatchObject([
      { parameters: { type: 'object', required: ['word'] } },
    ]);
    expect(contribution.tool.parameters.safeParse({ word: 1 }).success).toBe(false);
  });

  it('cannot be one that parses nothing', () => {
    expect(read({ _zod: { def: { type: 'object', shape: {} } } }).kind).toBe('wrong');
  });
});

describe('a typed hook', () => {
  it('is shown what its point shows, and answers what its point takes', () => {
    const extension = [
      defineHook('tools/guard', {
        name: 'guard',
        run: (call) => {
          expectTypeOf(call).toEqualTypeOf<HookCall>();
          return call.name === 'bash' ? { kind: 'deny', reason: 'No shell.' } : undefined;
        },
      }),
      defineHook('agent/pre-step', {
        name: 'mask',
        run: async ({ entries }) => ({
          kind: 'rewrite',
          entries: entries.map(({ itemId }) => ({ itemId, content: '***' })),
        }),
      }),
      defineHook('agent/request', {
        name: 'few-tools',
        run: ({ request }) => ({ kind: 'change', tools: request.tools.slice(0, 3) }),
      }),
      defineHook('llm/stream', {
        name: 'through',
        async *run(_input, next) {
          yield* next();
        },
      }),
      defineHook('session/event', {
        name: 'watch',
        run: (event) => {
          expectTypeOf(event).toEqualTypeOf<SessionEvent>();
        },
      }),
    ] satisfies Extension;
    expect(extension.map((contribution) => readContribution(contribution).kind)).toEqual(
      Array(extension.length).fill('hook'),
    );
  });

  it('cannot answer what its point does not take', () => {
    // @ts-expect-error a guard can only deny
    defineHook('tools/guard', { name: 'guard', run: () => ({ kind: 'allow' }) });
    // @ts-expect-error there is no such point
    const contribution = defineHook('tools/gaurd', { name: 'guard', run: () => undefined });
    expect(readContribution(contribution).kind).toBe('wrong');
  });
});
