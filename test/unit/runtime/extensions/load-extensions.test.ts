import { mkdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pino, type Logger } from 'pino';
import { ConfigurationError } from '../../../../src/runtime/configuration/configuration-error.js';
import {
  EXTENSION_LOAD_TIMEOUT_MS,
  type LoadedExtensions,
  loadExtensions,
} from '../../../../src/runtime/extensions/load-extensions.js';
import { createToolRegistry } from '../../../../src/tools/registry.js';
import { makeModuleFolder, type ModuleFolder, moduleOf, tool } from './module-folder.js';

let folder: ModuleFolder;
beforeEach(() => {
  folder = makeModuleFolder();
});
afterEach(() => {
  vi.useRealTimers();
  folder.remove();
});

const CONFIGURATION_FILE = '/etc/turnkeeper.config.yaml';

function load(paths: readonly string[], logger: Logger = pino({ enabled: false })) {
  return loadExtensions(paths, {
    configurationFile: CONFIGURATION_FILE,
    logger,
    takenToolNames: ['bash', 'read'],
  });
}

async function errorOf(...paths: string[]): Promise<ConfigurationError> {
  const error: unknown = await load(paths).catch((reason: unknown) => reason);
  if (error instanceof ConfigurationError) return error;
  throw new Error(`no ConfigurationError, but ${String(error)}`);
}

describe('an extension', () => {
  it('may be a list, or a function that makes one, also with a wait', async () => {
    const hook = `{ kind: 'hook', point: 'tools/guard', hook: { name: 'g', run: () => undefined } }`;
    for (const text of [
      `export default [${hook}];`,
      `export default () => [${hook}];`,
      `export default async () => [${hook}];`,
    ]) {
      const { toolHooks } = await load([folder.write(`m${String(text.length)}.mjs`, text)]);
      expect(toolHooks.guards.map(({ name }) => name)).toEqual(['g']);
    }
  });

  it('may be CommonJS', async () => {
    const path = folder.write('old.cjs', 'module.exports = ({ defineTool, z }) => [' + tool() + '];');
    expect((await load([path])).tools.map(({ name }) => name)).toEqual(['lookup']);
  });

  it('adds its hooks at their points, in the order of the paths and of each list', async () => {
    const points: readonly [string, (loaded: LoadedExtensions) => readonly { name: string }[]][] = [
      ['agent/pre-step', ({ turnHooks }) => turnHooks.preStep],
      ['agent/request', ({ turnHooks }) => turnHooks.request],
      ['llm/stream', ({ turnHooks }) => turnHooks.stream],
      ['agent/request-error', ({ turnHooks }) => turnHooks.requestError],
      ['agent/turn-stopping', ({ turnHooks }) => turnHooks.turnStopping],
      ['session/event', ({ eventObservers }) => eventObservers],
      ['tools/pre-execute', ({ toolHooks }) => toolHooks.preExecute],
      ['tools/guard', ({ toolHooks }) => toolHooks.guards],
      ['tools/execute', ({ toolHooks }) => toolHooks.execute],
      ['tools/post-execute', ({ toolHooks }) => toolHooks.postExecute],
      ['tools/result', ({ toolHooks }) => toolHooks.observers],
    ];
    const moduleWith = (...names: string[]) =>
      moduleOf(
        ...names.flatMap((name) =>
          points.map(([point]) => `defineHook('${point}', { name: '${name}', run: () => undefined })`),
        ),
      );
    const loaded = await load([
      folder.write('b.mjs', moduleWith('1', '2')),
      folder.write('a.mjs', moduleWith('3')),
    ]);
    for (const [point, hooksOf] of points) {
      expect([point, hooksOf(loaded).map(({ name }) => name)]).toEqual([point, ['1', '2', '3']]);
    }
  });

  it('keeps the time that a hook asks for', async () => {
    const hook = `defineHook('tools/guard', { name: 'g', timeoutMs: 30000, run: () => undefined })`;
    const { toolHooks } = await load([folder.write('m.mjs', moduleOf(hook))]);
    expect(toolHooks.guards).toMatchObject([{ name: 'g', timeoutMs: 30_000 }]);
  });

  it('writes into the log of the server under its name', async () => {
    const lines: unknown[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    await load([folder.write('m.mjs', `export default ({ logger }) => (logger.info('here'), []);`)], logger);
    expect(lines).toMatchObject([{ extension: 'm.mjs', msg: 'here' }]);
  });

  it('gives nothing where there is none', async () => {
    expect((await load([])).tools).toEqual([]);
  });
});

describe('a tool of an extension', () => {
  async function lookup(changes = '') {
    const { tools } = await load([folder.write(`t${String(changes.length)}.mjs`, moduleOf(tool(changes)))]);
    const [loaded] = tools;
    if (loaded === undefined) throw new Error('no tool was loaded');
    return loaded;
  }

  it('is parallel where it reads and exclusive where it does not, unless it says otherwise', async () => {
    const modeOf = async (changes: string) => (await lookup(changes)).concurrency({ word: 'a' });
    expect(await modeOf('')).toBe('parallel');
    expect(await modeOf(`effect: 'effect'`)).toBe('exclusive');
    expect(await modeOf(`effect: 'idempotent'`)).toBe('exclusive');
    expect(await modeOf(`effect: 'effect', concurrency: 'parallel'`)).toBe('parallel');
    expect(await modeOf(`concurrency: ({ word }) => word === 'a' ? 'exclusive' : 'parallel'`)).toBe(
      'exclusive',
    );
  });

  it('has the time that it names, as a number or by its arguments', async () => {
    expect(await lookup()).not.toHaveProperty('timeoutMs');
    expect((await lookup('timeoutMs: 5')).timeoutMs?.({ word: 'a' })).toBe(5);
    expect((await lookup('timeoutMs: ({ word }) => word.length')).timeoutMs?.({ word: 'abc' })).toBe(3);
  });

  it('may return its output at once, and keeps what else it says', async () => {
    const loaded = await lookup(`grantArguments: ['word'], escalation: () => 'Why.'`);
    expect(await loaded.execute({ word: 'a' }, {} as never)).toEqual({ content: 'a' });
    expect(loaded.grantArguments).toEqual(['word']);
    expect(loaded.escalation?.({ word: 'a' })).toBe('Why.');
  });

  it('may have its schema from a zod of its own, descriptions included', async () => {
    folder.installZod();
    const path = folder.write(
      'own-zod.mjs',
      `import { z } from 'zod'; export const own = z; export default ({ defineTool }) => [${tool()}];`,
    );
    const { tools } = await load([path]);
    const { own } = (await import(path)) as { own: unknown };
    expect(own).not.toBe((await import('zod')).z);
    expect(createToolRegistry(tools).offered('*')).toMatchObject([
      {
        name: 'lookup',
        parameters: {
          type: 'object',
          properties: { word: { type: 'string', description: 'A word.' } },
          required: ['word'],
          additionalProperties: false,
        },
      },
    ]);
    expect(tools[0]?.parameters.safeParse({ word: 1 }).success).toBe(false);
  });
});

describe('a wrong extension', () => {
  it('is refused with all that is wrong, each with the file and the place in it', async () => {
    const first = folder.write(
      'first.mjs',
      moduleOf(tool(), `{ hello: 1 }`, tool(`effect: 'maybe', tiemoutMs: 1`)),
    );
    const missing = folder.path('missing.mjs');
    const error = await errorOf(first, missing);
    expect(error.code).toBe('EXTENSION_INVALID');
    expect(error.problems.map(({ source, path }) => [source, path])).toEqual([
      [CONFIGURATION_FILE, 'extensions[0]'],
      [CONFIGURATION_FILE, 'extensions[0]'],
      [CONFIGURATION_FILE, 'extensions[0]'],
      [CONFIGURATION_FILE, 'extensions[1]'],
    ]);
    const [neither, effect, unknown, gone] = error.problems.map(({ message }) => message);
    expect(neither).toContain(`${first}, whose contribution 2 is neither a tool nor a hook`);
    expect(effect).toMatch(/contribution 3 \(the tool "lookup"\) has a wrong effect: .*"idempotent"/);
    expect(unknown).toContain('has the unknown key "tiemoutMs"; did you mean "timeoutMs"?');
    expect(gone).toContain(`names ${missing}, which does not exist`);
    expect(error.message).toContain(`${CONFIGURATION_FILE}: extensions[1] names`);
  });

  it('is one whose file is a folder', async () => {
    mkdirSync(folder.path('folder'));
    expect((await errorOf(folder.path('folder'))).message).toContain('is not a file');
  });

  it.each([
    ['throws while it is imported', `throw new Error('boom at import');`, /cannot be loaded: boom at import/],
    [
      'throws while it makes its list',
      `export default () => { throw new Error('boom'); };`,
      /cannot be loaded: boom/,
    ],
    ['throws what is no error', `throw 'plain';`, /cannot be loaded: plain/],
    [
      'imports what is not there',
      `import './nothing.mjs';`,
      /cannot be loaded: Cannot find module '.*nothing\.mjs'/,
    ],
    ['is no JavaScript', 'export default [', /cannot be loaded: .*"node --check .*m\.mjs" shows the line/],
    ['has no default export', 'export const tools = [];', /no default export. Export a list/],
    ['exports something else', 'export default { tools: [] };', /default export gives no list/],
    ['makes something else', 'export default () => {};', /default export gives no list/],
  ])('is one that %s', async (_what, text, message) => {
    expect((await errorOf(folder.write('m.mjs', text))).message).toMatch(message);
  });

  it('is one that does not get ready', async () => {
    const path = folder.write('m.mjs', 'export default () => new Promise(() => {});');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const error = errorOf(path);
    await vi.advanceTimersByTimeAsync(EXTENSION_LOAD_TIMEOUT_MS);
    expect((await error).message).toContain(`not ready within ${String(EXTENSION_LOAD_TIMEOUT_MS)} ms`);
  });

  it.each([
    ['a name that no provider takes', `name: 'look up'`, /wrong name: must be 1 to 64 letters/],
    ['a name like those of MCP servers', `name: 'mcp__a__b'`, /wrong name: must not begin with "mcp__"/],
    ['no permission', `permission: undefined`, /wrong permission: .*"network"/],
    ['no schema', `parameters: undefined`, /wrong parameters: must be a zod schema/],
    [
      'a plain object for a schema',
      `parameters: { word: 'string' }`,
      /wrong parameters: must be a zod schema/,
    ],
    ['a schema of zod 3', `parameters: { _def: {} }`, /wrong parameters: is a schema of zod 3/],
    [
      'a schema of something else than an object',
      `parameters: z.string()`,
      /must be an object schema .* "string"/,
    ],
    [
      'a schema that JSON cannot say',
      `parameters: z.strictObject({ at: z.date() })`,
      /cannot be shown to a model as JSON Schema: Date/,
    ],
    ['no body', `execute: 1`, /wrong execute: must be a function/],
    ['no time', `timeoutMs: 0`, /wrong timeoutMs/],
  ])('has a tool with %s', async (_what, changes, message) => {
    const error = await errorOf(folder.write('m.mjs', moduleOf(tool(changes))));
    expect(error.problems).toHaveLength(1);
    expect(error.message).toMatch(message);
  });

  it.each([
    [
      'an unknown point',
      `'tools/gaurd', { name: 'h', run() {} }`,
      /"tools\/gaurd", .* did you mean "tools\/guard"\?/,
    ],
    [
      'no point',
      `undefined, { name: 'h', run() {} }`,
      /hook point "undefined", .* known here: agent\/pre-step/,
    ],
    ['no name', `'tools/guard', { run() {} }`, /\(the hook without a name\) has a wrong name/],
    ['no function', `'tools/guard', { name: 'h' }`, /\(the hook "h"\) has a wrong run: must be a function/],
    ['nothing', `'tools/guard'`, /\(the hook without a name\) is wrong/],
    [
      'too long a time',
      `'tools/guard', { name: 'h', run() {}, timeoutMs: 30001 }`,
      /wrong timeoutMs: .*30000/,
    ],
    [
      'a time where the time of the tool counts',
      `'tools/execute', { name: 'h', run() {}, timeoutMs: 1 }`,
      /has a timeoutMs, but tools\/execute has the time of the tool/,
    ],
  ])('has a hook with %s', async (_what, args, message) => {
    const error = await errorOf(folder.write('m.mjs', moduleOf(`defineHook(${args})`)));
    expect(error.problems).toHaveLength(1);
    expect(error.message).toMatch(message);
  });

  it('has a name that is taken: of a built-in tool, of another module, of a hook at the same point', async () => {
    const hook = `defineHook('tools/guard', { name: 'h', run() {} })`;
    const other = `defineHook('tools/result', { name: 'h', run() {} })`;
    const first = folder.write('first.mjs', moduleOf(tool(), hook, other));
    const second = folder.write('second.mjs', moduleOf(tool(`name: 'bash'`), tool(), hook));
    const messages = (await errorOf(first, second)).problems.map(({ message }) => message);
    expect(messages).toEqual([
      `names ${second}, whose contribution 1 is the tool "bash", which Turnkeeper itself has already. Rename it.`,
      `names ${second}, whose contribution 2 is the tool "lookup", which ${first} has already. Rename it.`,
      `names ${second}, whose contribution 3 is the hook "h" of tools/guard, which ${first} has already. Rename it.`,
    ]);
  });
});
