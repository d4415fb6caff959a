/** Where the tools of this host act: its files and commands, the sandbox where one works, and the background commands. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { ActivityDeps } from '../activities/activity-deps.js';
import type { SessionStore } from '../store/session-store.js';
import { createBackgroundJobs, type BackgroundJobs } from '../tools/jobs/background-jobs.js';
import { createLocalExecutionProvider } from '../tools/local/local-execution-provider.js';
import { killMarkedProcesses } from '../tools/local/process-tree.js';
import { detectSandbox } from '../tools/sandbox/detect-sandbox.js';
import { createSandboxExecutionProvider } from '../tools/sandbox/sandbox-execution-provider.js';
import { currentProcess, isRunning } from './home/process-identity.js';
import type { Teardown } from './teardown.js';

export interface ExecutionPartsOptions {
  /** The folder of the home. */
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly store: SessionStore;
  readonly logger: Logger;
  readonly teardown: Teardown;
}

export interface ExecutionParts extends Pick<ActivityDeps, 'execution'> {
  readonly jobs: BackgroundJobs;
}

/** Finds the sandbox, and cares for background commands: those of sessions that are gone are ended, all with the teardown. */
export async function startExecution({
  home,
  env,
  store,
  logger,
  teardown,
}: ExecutionPartsOptions): Promise<ExecutionParts> {
  const local = createLocalExecutionProvider();
  const sandbox = await detectSandbox(env);
  if (!sandbox.works) logger.info({ reason: sandbox.reason }, 'commands are not confined, and ask');
  const execution = sandbox.works ? createSandboxExecutionProvider(local, sandbox) : local;
  const jobs = createBackgroundJobs({
    folder: join(home, 'jobs'),
    execution,
    clock: Date.now,
    owner: currentProcess(),
    isRunning,
    endMarked: killMarkedProcesses,
    logger,
  });
  await jobs.sweep(async (uid) => (await store.findSessionByUid(uid)) !== undefined);
  teardown.add('background jobs', () => jobs.stop());
  // At once; what this misses, the retention makes good.
  store.watch(null, ({ kind, uid }) => {
    if (kind !== 'deleted') return;
    jobs.endSession(uid).catch((error: unknown) => {
      logger.warn({ err: error, uid }, 'the commands of a deleted session were not ended; it is tried again');
    });
  });
  return { execution, jobs };
}

/** Real paths that no tool touches: the home with all in it, the kernel's, and the files that lie elsewhere. */
export function protectedPathsOf(home: string, files: readonly (string | undefined)[]): string[] {
  const present = files.filter((file) => file !== undefined && existsSync(file));
  const real = present.map((file) => realpathSync(String(file)));
  return [...new Set([realpathSync(home), ...real, '/proc', '/sys', '/dev'])];
}
