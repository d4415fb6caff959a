import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { sha256Schema } from '../../../src/contract/ids.js';
import { setUpEcho } from './echo-tool.js';
import { createToolFixture, textOf } from './tool-fixture.js';

const ASKS = {
  mode: 'workspace-write',
  rules: [{ tool: 'echo', decision: 'ask' }],
  grants: [],
  sandboxed: false,
} as const;

describe('the arguments of a call', () => {
  it('are {} where the string is empty', async () => {
    const { run } = await setUpEcho({
      tool: { parameters: z.strictObject({ text: z.string().default('nothing') }) },
    });
    expect(textOf(await run('echo', ''))).toBe('nothing');
  });

  it.each([
    ['{"text": "cut', 'not valid JSON'],
    ['{"text": "a"} {}', 'not valid JSON'],
    ['["text"]', 'must be a JSON object, not an array'],
    ['null', 'must be a JSON object, not null'],
    ['"text"', 'must be a JSON object, not a string'],
  ])('never reach the tool where they are %s', async (raw, problem) => {
    const { run, execute } = await setUpEcho();
    const outcome = await run('echo', raw);
    expect(outcome).toMatchObject({ isError: true, error: { code: 'INVALID_ARGS' } });
    expect(textOf(outcome)).toContain(problem);
    expect(execute).not.toHaveBeenCalled();
  });

  it('are refused with every violation and its path', async () => {
    const { run } = await setUpEcho();
    const lines = textOf(await run('echo', { text: 1, list: [{ id: 'a' }, { id: 2 }], more: true })).split(
      '\n',
    );
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^- text: .*expected string/),
        expect.stringMatching(/^- list\[1\]\.id: .*expected string/),
        expect.stringMatching(/^- .*"more"/),
      ]),
    );
  });
});

describe('a schema that fails by itself', () => {
  it.each([
    ['with an asynchronous check', z.strictObject({ text: z.string().refine(async () => true) }), /async/i],
    [
      'with a check that throws',
      z.strictObject({
        text: z.string().refine(() => {
          throw new Error('no table');
        }),
      }),
      /cannot be checked: no table/,
    ],
  ])('refuses the call: %s', async (_what, parameters, problem) => {
    const { pipeline, request, run, context } = await setUpEcho({ tool: { parameters } });
    const call = request('echo', { text: 'a' });
    expect((await pipeline.planCall(call)).decision.kind).toBe('deny');
    expect(await pipeline.previewCall(call.call, context())).toBeUndefined();
    const outcome = await run('echo', { text: 'a' });
    expect(outcome.error?.code).toBe('INVALID_ARGS');
    expect(textOf(outcome)).toMatch(problem);
  });
});

describe('an unknown tool', () => {
  it('is told with the names that exist', async () => {
    const { run } = await setUpEcho();
    const outcome = await run('toString', {});
    expect(outcome.error?.code).toBe('UNKNOWN_TOOL');
    expect(textOf(outcome)).toBe('There is no tool named "toString". The tools are: echo, other.');
  });

  it('is one that the profile did not select, too', async () => {
    const { pipeline, request } = await setUpEcho();
    const outcome = await pipeline.executeCall({ ...request('other', { text: 'a' }), selection: ['echo'] });
    expect(textOf(outcome)).toBe('There is no tool named "other". The tools are: echo.');
  });
});

describe('the plan of a call', () => {
  it('has effect, mode and whether it is quick', async () => {
    const { pipeline, request } = await setUpEcho();
    const plan = await pipeline.planCall(request('echo', { text: 'a' }));
    expect(plan).toMatchObject({
      effect: 'read',
      mode: 'parallel',
      quick: true,
      decision: { kind: 'allow' },
    });
  });

  it('is quick for read tools only', async () => {
    const { pipeline, request } = await setUpEcho({
      tool: { effect: 'effect', concurrency: () => 'exclusive' },
    });
    const plan = await pipeline.planCall(request('echo', { text: 'a' }));
    expect(plan).toMatchObject({ effect: 'effect', mode: 'exclusive', quick: false });
  });

  it('of a call that will not reach a body is a barrier to nobody', async () => {
    const { pipeline, request } = await setUpEcho({
      tool: { effect: 'effect', concurrency: () => 'exclusive' },
    });
    const plan = await pipeline.planCall(request('echo', 'garbage'));
    expect(plan).toMatchObject({
      effect: 'effect',
      mode: 'parallel',
      quick: true,
      decision: { kind: 'deny' },
    });
  });

  it('is denied where the class of concurrency cannot be told', async () => {
    const concurrency = () => {
      throw new Error('no class');
    };
    const { pipeline, request, run } = await setUpEcho({ tool: { concurrency } });
    expect((await pipeline.planCall(request('echo', { text: 'a' }))).decision.kind).toBe('deny');
    expect((await run('echo', { text: 'a' })).error?.code).toBe('DENIED');
  });
});

describe('the questions of a call', () => {
  const questions = [{ id: 'a', question: 'Which?' }];

  it('are in its plan, which is not quick then', async () => {
    const { pipeline, request } = await setUpEcho({ tool: { questions: () => questions } });
    const plan = await pipeline.planCall(request('echo', { text: 'a' }));
    expect(plan).toMatchObject({ quick: false, decision: { kind: 'allow' }, questions });
  });

  it('are not asked of a call that is denied', async () => {
    const { pipeline, request } = await setUpEcho({ tool: { questions: () => questions } });
    const rules = [{ tool: 'echo', decision: 'deny' }] as const;
    const plan = await pipeline.planCall({ ...request('echo', { text: 'a' }), policy: { ...ASKS, rules } });
    expect(plan.questions).toBeUndefined();
  });

  it('deny it where the tool cannot say them', async () => {
    const fails = () => {
      throw new Error('no questions');
    };
    const { pipeline, request, run } = await setUpEcho({ tool: { questions: fails } });
    const plan = await pipeline.planCall(request('echo', { text: 'a' }));
    expect(plan).toMatchObject({ decision: { kind: 'deny', reason: 'no questions' }, mode: 'parallel' });
    expect((await run('echo', { text: 'a' })).error?.code).toBe('DENIED');
  });

  it('that nobody could answer are told as that, without advice on permissions', async () => {
    const { pipeline, request, execute } = await setUpEcho({ tool: { questions: () => questions } });
    const verdict = { kind: 'refused', code: 'APPROVAL_UNAVAILABLE', reason: 'Nobody is there.' } as const;
    const outcome = await pipeline.executeCall({ ...request('echo', { text: 'a' }), verdict });
    expect(outcome.error?.code).toBe('APPROVAL_UNAVAILABLE');
    expect(textOf(outcome)).toBe('Nobody is there.');
    expect(execute).not.toHaveBeenCalled();
  });
});

describe('the permission of a call', () => {
  it('that is denied is a result with the reason', async () => {
    const { pipeline, request, execute } = await setUpEcho({ tool: { permission: 'write' } });
    const policy = { mode: 'read-only', rules: [], grants: [], sandboxed: false } as const;
    const beforeBody = vi.fn(async () => {});
    const outcome = await pipeline.executeCall({ ...request('echo', { text: 'a' }), policy, beforeBody });
    expect(outcome.error?.code).toBe('DENIED');
    expect(textOf(outcome)).toBe('The permission mode read-only does not let files be written.');
    expect([execute, beforeBody].map((f) => f.mock.calls.length)).toEqual([0, 0]);
  });

  it('that needs an approval says what, why and how to allow it, where nobody can give one', async () => {
    const { pipeline, request, execute } = await setUpEcho();
    const call = { ...request('echo', { text: 'a' }), policy: ASKS };
    expect((await pipeline.planCall(call)).decision.kind).toBe('ask');
    const verdict = { kind: 'refused', code: 'APPROVAL_UNAVAILABLE', reason: '' } as const;
    const outcome = await pipeline.executeCall({ ...call, verdict });
    expect(outcome.error?.code).toBe('APPROVAL_UNAVAILABLE');
    expect(textOf(outcome)).toContain('echo did not run: it needs an approval');
    expect(textOf(outcome)).toContain('A rule of the profile wants echo to be approved.');
    expect(textOf(outcome)).toContain('permission: full-access');
    expect(textOf(outcome)).toContain('{ tool: echo, decision: allow }');
    expect(execute).not.toHaveBeenCalled();
  });

  it('that was approved lets the call run, but not past a denial', async () => {
    const { pipeline, request } = await setUpEcho({
      hooks: {
        guards: [
          {
            name: 'g',
            run: ({ arguments: { text } }) => (text === 'no' ? { kind: 'deny', reason: 'No.' } : undefined),
          },
        ],
      },
    });
    const approved = (text: string) =>
      pipeline.executeCall({ ...request('echo', { text }), policy: ASKS, verdict: { kind: 'allowed' } });
    expect(textOf(await approved('yes'))).toBe('yes');
    expect((await approved('no')).error?.code).toBe('DENIED');
  });
});

describe('a large result', () => {
  const large = `first\n${'€'.repeat(30_000)}\nlast`;

  it('is in a blob as a whole, with its head and tail in the result and a locator that read takes', async () => {
    const fixture = await createToolFixture();
    const { run, blobs } = await setUpEcho({ body: async () => ({ content: large }) });
    const text = textOf(await run('echo', { text: 'a' }));
    expect(Buffer.byteLength(text)).toBeLessThan(50 * 1024);
    expect(text.startsWith('first\n€')).toBe(true);
    expect(text.endsWith('€\nlast')).toBe(true);
    expect(text).not.toContain('\ufffd');
    const sha256 = sha256Schema.parse(/blob:([0-9a-f]{64})/.exec(text)?.[1]);
    expect(Buffer.from(blobs.get(sha256)!).toString()).toBe(large);
    const readBlob = async () => blobs.get(sha256);
    const again = await fixture.run('read', { file_path: `blob:${sha256}`, offset: 3 }, { readBlob });
    expect(textOf(again)).toBe('3\tlast\n[lines 3 to 3 of 3, its end]');
    await fixture.remove();
  });

  it('keeps its other blocks in place', async () => {
    const image = {
      type: 'image',
      blob: sha256Schema.parse('0'.repeat(64)),
      mediaType: 'image/png',
    } as const;
    const { run } = await setUpEcho({
      body: async () => ({
        content: [image, { type: 'text', text: large }, image, { type: 'text', text: 'end' }],
      }),
    });
    const { content } = await run('echo', { text: 'a' });
    expect(content.map(({ type }) => type)).toEqual(['image', 'text', 'image']);
    expect(textOf({ content } as never)).toContain('last\nend');
  });

  it('still has its head and tail where the blob cannot be stored', async () => {
    const { run } = await setUpEcho({ body: async () => ({ content: large }) });
    const saveBlob = () => Promise.reject(new Error('disk full'));
    const outcome = await run('echo', { text: 'a' }, { saveBlob });
    expect(outcome.isError).toBe(false);
    expect(textOf(outcome)).toContain('the whole could not be stored');
  });

  it('of 50 KiB exactly stays as it is', async () => {
    const { run } = await setUpEcho({ body: async () => ({ content: 'x'.repeat(50 * 1024) }) });
    expect(textOf(await run('echo', { text: 'a' }))).toHaveLength(50 * 1024);
  });
});
