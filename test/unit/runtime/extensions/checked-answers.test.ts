import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadExtensions } from '../../../../src/runtime/extensions/load-extensions.js';
import { createToolFixture, textOf, type ToolFixture } from '../../tools/tool-fixture.js';
import { makeModuleFolder, type ModuleFolder, moduleOf, tool } from './module-folder.js';

let folder: ModuleFolder;
const fixtures: ToolFixture[] = [];
beforeEach(() => {
  folder = makeModuleFolder();
});
afterEach(async () => {
  folder.remove();
  for (const fixture of fixtures.splice(0)) await fixture.remove();
});

function load(paths: readonly string[]) {
  return loadExtensions(paths, {
    configurationFile: undefined,
    logger: pino({ enabled: false }),
    takenToolNames: [],
  });
}

describe('what a tool of an extension answers', () => {
  const CALL = { callId: 'call_1', name: 'lookup', arguments: '{"word":"a"}' };
  async function setUp(changes: string) {
    const { tools } = await load([folder.write(`a${String(changes.length)}.mjs`, moduleOf(tool(changes)))]);
    const fixture = await createToolFixture({ tools });
    fixtures.push(fixture);
    return fixture;
  }

  it.each([
    ['concurrency', `() => 'sideways'`],
    ['concurrency', `async () => 'parallel'`],
    ['escalation', `() => ({ kind: 'ask' })`],
    ['escalation', `() => ''`],
    ['questions', `() => [{ question: 'Which?' }]`],
    ['questions', `() => 'Which?'`],
    ['questions', `() => []`],
    ['questions', `async () => [{ id: 'a', question: 'Which?' }]`],
  ])('as its %s denies the call where it is %s', async (name, answer) => {
    const { pipeline, request } = await setUp(`${name}: ${answer}`);
    const policy = { mode: 'workspace-write', rules: [], grants: [], sandboxed: false } as const;
    const plan = await pipeline.planCall({ ...request('lookup', CALL.arguments), policy });
    expect(plan).toMatchObject({ decision: { kind: 'deny' }, mode: 'parallel' });
    expect(plan.decision.reason).toContain(`lookup gives a wrong ${name}: `);
  });

  it.each([`() => 0`, `() => 'long'`, `() => NaN`, `() => Infinity`])(
    'as its timeoutMs keeps the body from running where it is %s',
    async (answer) => {
      const { run } = await setUp(`timeoutMs: ${answer}`);
      const outcome = await run('lookup', { word: 'a' });
      expect(outcome.error?.code).toBe('DENIED');
      expect(textOf(outcome)).toContain('lookup did not run: lookup gives a wrong timeoutMs');
    },
  );

  it.each([`() => ({})`, `() => null`, `async () => ({ kind: 'picture', text: 'a' })`, `() => { throw 1 }`])(
    'as its preview is left out where it is %s',
    async (answer) => {
      const { pipeline, context } = await setUp(`preview: ${answer}`);
      expect(await pipeline.previewCall(CALL, context())).toBeUndefined();
    },
  );

  it('passes where it is right, at once or with a wait, and the function keeps its this', async () => {
    const atOnce = await setUp(`preview(args) { return { kind: 'text', text: this.name + args.word }; }`);
    const shown = { kind: 'text', text: 'lookupa' };
    expect(await atOnce.pipeline.previewCall(CALL, atOnce.context())).toEqual(shown);
    const later = await setUp(`preview: async () => ({ kind: 'diff', text: '+a' })`);
    expect(await later.pipeline.previewCall(CALL, later.context())).toEqual({ kind: 'diff', text: '+a' });
    const asking = await setUp(`questions: ({ word }) => [{ id: word, question: 'Which?' }]`);
    const plan = await asking.pipeline.planCall(asking.request('lookup', CALL.arguments));
    expect(plan.questions).toEqual([{ id: 'a', question: 'Which?' }]);
  });
});

describe('what a hook answers', () => {
  it.each([
    ['tools/guard', `{ kind: 'Deny', reason: 'No.' }`],
    ['tools/guard', 'true'],
    ['tools/guard', `{ kind: 'deny' }`],
    ['tools/pre-execute', `{ kind: 'allow' }`],
    ['tools/post-execute', `{ kind: 'replace' }`],
  ] as const)('at %s fails it where it is %s', async (point, answer) => {
    const hook = `defineHook('${point}', { name: 'h', run: () => (${answer}) })`;
    const { toolHooks } = await load([folder.write('m.mjs', moduleOf(hook))]);
    const [loaded] = [...toolHooks.guards, ...toolHooks.preExecute, ...toolHooks.postExecute];
    await expect(loaded?.run({} as never, {} as never)).rejects.toThrow(`its answer is none of ${point}`);
  });

  it.each([
    ['agent/pre-step', 'preStep', `{ kind: 'add', content: '' }`],
    ['agent/request', 'request', `{ kind: 'change', temperature: 1 }`],
    ['agent/request-error', 'requestError', `{ kind: 'retry', delayMs: -1 }`],
    ['agent/turn-stopping', 'turnStopping', `'continue'`],
  ] as const)('at %s fails it where it is wrong', async (point, list, answer) => {
    const hook = `defineHook('${point}', { name: 'h', run: async () => (${answer}) })`;
    const { turnHooks } = await load([folder.write('m.mjs', moduleOf(hook))]);
    await expect(turnHooks[list][0]?.run({} as never)).rejects.toThrow(`its answer is none of ${point}`);
  });

  it('passes where it is right, and the hook keeps its this', async () => {
    const hook = `defineHook('tools/guard', { name: 'h', run() { return { kind: 'deny', reason: this.name }; } })`;
    const { toolHooks } = await load([folder.write('m.mjs', moduleOf(hook))]);
    expect(await toolHooks.guards[0]?.run({} as never)).toEqual({ kind: 'deny', reason: 'h' });
  });

  it('at llm/stream must be a stream', async () => {
    const hook = `defineHook('llm/stream', { name: 'h', run: async () => [] })`;
    const { turnHooks } = await load([folder.write('m.mjs', moduleOf(hook))]);
    const run = () => turnHooks.stream[0]?.run({} as never, () => ({}) as never);
    expect(run).toThrow(/async iterable/);
  });
});
