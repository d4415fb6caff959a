import { describe, expect, it, vi } from 'vitest';
import { ABORT_GRACE_MS } from '../../../src/tools/tool-body.js';
import { ToolError, type ToolOutput } from '../../../src/tools/tool.js';
import { setUpEcho } from './echo-tool.js';
import { textOf, until } from './tool-fixture.js';

describe('a body', () => {
  it('runs after beforeBody has settled', async () => {
    const order: string[] = [];
    const { pipeline, request } = await setUpEcho({
      body: async () => {
        order.push('body');
        return { content: '' };
      },
    });
    const beforeBody = async () => {
      await Promise.resolve();
      order.push('receipt');
    };
    await pipeline.executeCall({ ...request('echo', { text: 'a' }), beforeBody });
    expect(order).toEqual(['receipt', 'body']);
  });

  it('does not run where beforeBody fails, and the caller gets that failure', async () => {
    const { pipeline, request, execute } = await setUpEcho();
    const beforeBody = () => Promise.reject(new Error('fenced'));
    await expect(pipeline.executeCall({ ...request('echo', { text: 'a' }), beforeBody })).rejects.toThrow(
      'fenced',
    );
    expect(execute).not.toHaveBeenCalled();
  });

  it('that throws is a result', async () => {
    const { run } = await setUpEcho({
      body: () => {
        throw new TypeError('no such thing');
      },
    });
    const outcome = await run('echo', { text: 'a' });
    expect(outcome).toMatchObject({ isError: true, error: { name: 'TypeError', code: 'TOOL_ERROR' } });
    expect(textOf(outcome)).toBe('Error: no such thing');
  });

  it('that throws a ToolError has its code', async () => {
    const { run } = await setUpEcho({
      body: () => Promise.reject(new ToolError('FS_NOT_FOUND', 'a does not exist.')),
    });
    expect((await run('echo', { text: 'a' })).error).toEqual({ name: 'ToolError', code: 'FS_NOT_FOUND' });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an unknown block', { content: [{ type: 'video' }] }],
    ['meta that is no JSON', { content: 'a', meta: { when: new Date(0) } }],
  ])('that returns %s is an INVALID_TOOL_OUTPUT', async (_name, output) => {
    const { run } = await setUpEcho({ body: async () => output as ToolOutput });
    expect((await run('echo', { text: 'a' })).error?.code).toBe('INVALID_TOOL_OUTPUT');
  });

  it('is aborted and reported when it takes longer than its timeout', async () => {
    const { run } = await setUpEcho({
      tool: { timeoutMs: () => 5 },
      body: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    });
    const outcome = await run('echo', { text: 'a' });
    expect(outcome.error?.code).toBe('TOOL_TIMEOUT');
    expect(textOf(outcome)).toBe('Error: echo did not end within 5 ms.');
  });

  it('that ignores its abort is given up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const controller = new AbortController();
    const { run, execute } = await setUpEcho({ body: () => new Promise(() => {}) });
    const running = run('echo', { text: 'a' }, { signal: controller.signal });
    const rejected = expect(running).rejects.toThrow('cancelled');
    await until(() => execute.mock.calls.length > 0);
    controller.abort(new Error('cancelled'));
    await vi.advanceTimersByTimeAsync(ABORT_GRACE_MS);
    await rejected;
  });

  it('that returned before it noticed an abort has its result', async () => {
    const controller = new AbortController();
    const { run } = await setUpEcho({
      body: async () => {
        controller.abort(new Error('cancelled'));
        return { content: 'done' };
      },
    });
    expect(textOf(await run('echo', { text: 'a' }, { signal: controller.signal }))).toBe('done');
  });
});
