import { describe, expect, it, vi } from 'vitest';
import { HOOK_DEADLINE_MS } from '../../../src/tools/hooks.js';
import type { ToolOutput } from '../../../src/tools/tool.js';
import { setUpEcho } from './echo-tool.js';
import { textOf, until } from './tool-fixture.js';

describe('a pre-execute hook', () => {
  it('can tighten the policy and never relax it', async () => {
    const { pipeline, request } = await setUpEcho({
      hooks: { preExecute: [{ name: 'h', run: () => ({ kind: 'ask', reason: 'Careful.' }) }] },
      tool: { permission: 'write' },
    });
    const call = request('echo', { text: 'a' });
    expect((await pipeline.planCall(call)).decision).toEqual({ kind: 'ask', reason: 'Careful.' });
    const denied = {
      ...call,
      policy: { mode: 'read-only', rules: [], grants: [], sandboxed: false } as const,
    };
    expect((await pipeline.planCall(denied)).decision.kind).toBe('deny');
  });

  it('can rewrite the arguments, which the policy then judges', async () => {
    const { pipeline, request } = await setUpEcho({
      hooks: {
        preExecute: [{ name: 'h', run: () => ({ kind: 'rewrite', arguments: { text: 'rewritten' } }) }],
      },
    });
    const call = request('echo', { text: 'a' });
    expect(textOf(await pipeline.executeCall(call))).toBe('rewritten');
    const rules = [{ tool: 'echo', match: { text: 'rewritten' }, decision: 'deny' }] as const;
    const outcome = await pipeline.executeCall({ ...call, policy: { ...call.policy, rules } });
    expect(outcome.error?.code).toBe('DENIED');
  });

  it('that rewrites to invalid arguments denies', async () => {
    const { run, execute } = await setUpEcho({
      hooks: { preExecute: [{ name: 'h', run: () => ({ kind: 'rewrite', arguments: { text: 1 } }) }] },
    });
    expect((await run('echo', { text: 'a' })).error?.code).toBe('DENIED');
    expect(execute).not.toHaveBeenCalled();
  });
});

describe('a hook that throws', () => {
  const fails = (): never => {
    throw new Error('broken');
  };

  it.each([
    ['preExecute', { preExecute: [{ name: 'h', run: fails }] }],
    ['guards', { guards: [{ name: 'h', run: fails }] }],
    ['execute', { execute: [{ name: 'h', run: fails }] }],
  ])('in %s denies the call', async (_point, hooks) => {
    const { run, execute } = await setUpEcho({ hooks });
    const outcome = await run('echo', { text: 'a' });
    expect(outcome.error?.code).toBe('DENIED');
    expect(textOf(outcome)).toContain('broken');
    expect(execute).not.toHaveBeenCalled();
  });

  it('in postExecute withholds the result', async () => {
    const { run } = await setUpEcho({
      hooks: { postExecute: [{ name: 'scrub', run: fails }] },
      body: async () => ({ content: 'secret', meta: { key: 'secret' } }),
    });
    const outcome = await run('echo', { text: 'a' });
    expect(outcome.error?.code).toBe('DENIED');
    expect(JSON.stringify(outcome)).not.toContain('secret');
    expect(textOf(outcome)).toContain('The hook scrub failed: broken');
  });

  it('as an observer changes nothing, and is logged', async () => {
    const { run, warnings } = await setUpEcho({ hooks: { observers: [{ name: 'h', run: fails }] } });
    expect(textOf(await run('echo', { text: 'a' }))).toBe('a');
    expect(warnings).toMatchObject([
      { tool: 'echo', callId: 'call_1', err: { message: 'The hook h failed: broken' } },
    ]);
  });

  it('is one that does not settle, too', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const run = vi.fn(() => new Promise<undefined>(() => {}));
    const fixture = await setUpEcho({ hooks: { guards: [{ name: 'h', run }] } });
    const running = fixture.run('echo', { text: 'a' });
    await until(() => run.mock.calls.length > 0);
    await vi.advanceTimersByTimeAsync(HOOK_DEADLINE_MS);
    expect((await running).error?.code).toBe('DENIED');
  });
});

describe('middleware around the body', () => {
  it('runs from the outside in, and may answer itself', async () => {
    const order: string[] = [];
    const layer = (name: string) => ({
      name,
      run: async (_call: unknown, next: () => Promise<ToolOutput>) => {
        order.push(name);
        return next();
      },
    });
    const { run, execute } = await setUpEcho({
      hooks: {
        execute: [
          layer('outer'),
          layer('inner'),
          { name: 'cache', run: async () => ({ content: 'cached' }) },
        ],
      },
    });
    expect(textOf(await run('echo', { text: 'a' }))).toBe('cached');
    expect(order).toEqual(['outer', 'inner']);
    expect(execute).not.toHaveBeenCalled();
  });

  it('cannot run a body twice', async () => {
    const { run, execute } = await setUpEcho({
      hooks: { execute: [{ name: 'again', run: async (_call, next) => next().then(next) }] },
    });
    expect((await run('echo', { text: 'a' })).error?.code).toBe('TOOL_ERROR');
    expect(execute).toHaveBeenCalledTimes(1);
  });
});

describe('a post-execute hook', () => {
  it('can replace what the hook before it left, and add contexts', async () => {
    const context = [{ type: 'text', text: 'Note well.' }] as const;
    const { run } = await setUpEcho({
      hooks: {
        postExecute: [
          { name: 'one', run: () => ({ kind: 'replace', content: 'first' }) },
          {
            name: 'two',
            run: (_call, { content }) => ({
              kind: 'replace',
              content: [...content, { type: 'text', text: 'second' }],
            }),
          },
          { name: 'three', run: () => ({ kind: 'accept', contexts: [context] }) },
        ],
      },
    });
    const outcome = await run('echo', { text: 'a' });
    expect(textOf(outcome)).toBe('first\nsecond');
    expect(outcome.contexts).toEqual([context]);
  });

  it('can mask content and meta, before anything of it goes to a blob', async () => {
    const { run, blobs } = await setUpEcho({
      body: async () => ({ content: 'secret '.repeat(20_000), meta: { key: 'secret' } }),
      hooks: { postExecute: [{ name: 'mask', run: () => ({ kind: 'mask', reason: 'it holds a key' }) }] },
    });
    const outcome = await run('echo', { text: 'a' });
    expect(textOf(outcome)).toBe('[result withheld: it holds a key]');
    expect(outcome.meta).toBeUndefined();
    expect(blobs.size).toBe(0);
  });

  it('sees denied, invalid and unknown calls', async () => {
    const seen: (string | undefined)[] = [];
    const { pipeline, request } = await setUpEcho({
      hooks: { postExecute: [{ name: 'see', run: (_call, { error }) => void seen.push(error?.code) }] },
      tool: { permission: 'write' },
    });
    const policy = { mode: 'read-only', rules: [], grants: [], sandboxed: false } as const;
    for (const call of [request('echo', { text: 'a' }), request('echo', '['), request('nobody', {})]) {
      await pipeline.executeCall({ ...call, policy });
    }
    expect(seen).toEqual(['DENIED', 'INVALID_ARGS', 'UNKNOWN_TOOL']);
  });
});
