/** A workspace in a temp folder, with blobs and observed files in memory, and the pipeline over real tools. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Schema, type Sha256 } from '../../../src/contract/ids.js';
import type { PermissionPolicy } from '../../../src/core/permission.js';
import { BUILT_IN_TOOLS } from '../../../src/tools/built-in-tools.js';
import type { ToolHooks } from '../../../src/tools/hooks.js';
import { createLocalExecutionProvider } from '../../../src/tools/local/local-execution-provider.js';
import type { SessionJobs } from '../../../src/tools/jobs/session-jobs.js';
import { createToolPipeline, type ExecuteRequest, type ToolOutcome } from '../../../src/tools/pipeline.js';
import { createToolRegistry } from '../../../src/tools/registry.js';
import type { Tool, ToolContext } from '../../../src/tools/tool.js';
import { NO_HOOKS } from '../../support/no-hooks.js';

export const FULL_ACCESS: PermissionPolicy = { mode: 'full-access', rules: [], grants: [], sandboxed: false };

const noJobs = () => Promise.reject(new Error('This fixture has no background commands.'));
const NO_JOBS: SessionJobs = { start: noJobs, output: noJobs, kill: noJobs };

export interface FixtureOptions {
  readonly tools?: readonly Tool[];
  readonly hooks?: Partial<ToolHooks>;
  readonly protectedPaths?: (folder: string) => string[];
}

export async function createToolFixture({
  tools = BUILT_IN_TOOLS,
  hooks,
  protectedPaths,
}: FixtureOptions = {}) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'turnkeeper-tools-')));
  const uniqueKey = folder.split('-').at(-1) ?? '';
  const workspace = join(folder, 'workspace');
  await mkdir(workspace);
  const blobs = new Map<Sha256, Uint8Array>();
  const observed = new Map<string, string>();
  const outputs: { stream: string; text: string }[] = [];
  let calls = 0;
  const registry = createToolRegistry(tools);
  const warnings: unknown[] = [];
  const pipeline = createToolPipeline({
    registry,
    hooks: { ...NO_HOOKS, ...hooks },
    clock: Date.now,
    logger: { warn: (fields: unknown) => void warnings.push(fields) },
  });

  const context = (changes: Partial<ToolContext> = {}): ToolContext => ({
    signal: new AbortController().signal,
    idempotencyKey: `${uniqueKey}/1.1.${String((calls += 1))}`,
    callId: 'call_1',
    workspace,
    protectedPaths: ['/proc', '/sys', '/dev', ...(protectedPaths?.(folder) ?? [])],
    execution: createLocalExecutionProvider(),
    sandbox: null,
    jobs: NO_JOBS,
    answers: [],
    observedVersion: (path) => observed.get(path),
    output: (stream, text) => outputs.push({ stream, text }),
    progress: () => {},
    saveBlob: async (bytes) => {
      const sha256 = sha256Schema.parse(createHash('sha256').update(bytes).digest('hex'));
      blobs.set(sha256, Uint8Array.from(bytes));
      return sha256;
    },
    readBlob: async (sha256) => blobs.get(sha256),
    ...changes,
  });
  const request = (name: string, args: unknown, changes: Partial<ToolContext> = {}): ExecuteRequest => ({
    call: { callId: 'call_1', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
    selection: '*',
    policy: FULL_ACCESS,
    workspace,
    context: context(changes),
  });

  /** Runs a call and remembers the file versions that its result observed, as a session does. */
  async function run(name: string, args: unknown, changes: Partial<ToolContext> = {}): Promise<ToolOutcome> {
    const outcome = await pipeline.executeCall(request(name, args, changes));
    for (const { path, version } of outcome.meta?.observed ?? []) observed.set(path, version);
    return outcome;
  }

  return {
    folder,
    workspace,
    key: uniqueKey,
    blobs,
    observed,
    outputs,
    /** What the pipeline has logged. */
    warnings,
    pipeline,
    request,
    context,
    run,
    path: (...names: string[]) => join(workspace, ...names),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export type ToolFixture = Awaited<ReturnType<typeof createToolFixture>>;

/** The text of a result that has text only. */
export function textOf(outcome: ToolOutcome): string {
  return outcome.content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('\n');
}

/** Waits until the condition holds; fails the test by its own timeout where it never does. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
