/** Background jobs over real processes and files in a temp folder, for one session whose calls are numbered. */
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { sessionUidSchema, type SessionUid } from '../../../../src/contract/ids.js';
import { currentProcess, isRunning } from '../../../../src/runtime/home/process-identity.js';
import {
  type BackgroundJobs,
  type BackgroundJobsDeps,
  createBackgroundJobs,
} from '../../../../src/tools/jobs/background-jobs.js';
import type { JobOutput, SessionJobs } from '../../../../src/tools/jobs/session-jobs.js';
import { createLocalExecutionProvider } from '../../../../src/tools/local/local-execution-provider.js';
import { killMarkedProcesses } from '../../../../src/tools/local/process-tree.js';
import { until } from '../tool-fixture.js';

/** The jobs of this process over a folder, as the composition root makes them. */
export function openJobs(folder: string, changes: Partial<BackgroundJobsDeps> = {}) {
  return createBackgroundJobs({
    folder,
    execution: createLocalExecutionProvider(),
    clock: Date.now,
    owner: currentProcess(),
    isRunning,
    endMarked: killMarkedProcesses,
    logger: pino({ enabled: false }),
    ...changes,
  });
}

export async function createJobsFixture() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'turnkeeper-jobs-')));
  const folder = join(root, 'jobs');
  const workspace = join(root, 'workspace');
  await mkdir(workspace);
  const uid = sessionUidSchema.parse(uuidv7());
  const opened: BackgroundJobs[] = [];
  const open = (changes: Partial<BackgroundJobsDeps> = {}) => {
    const jobs = openJobs(folder, changes);
    opened.push(jobs);
    return jobs;
  };
  const background = open();
  const started: SessionUid[] = [uid];
  let calls = 0;
  const nextKey = () => `${uid}/1.1.${String((calls += 1))}`;

  const request = (command: string, idempotencyKey = nextKey()) => ({
    scope: { workspace, protectedPaths: [] },
    sandbox: null,
    command,
    workdir: undefined,
    timeoutMs: 60_000,
    idempotencyKey,
  });
  const path = (name: string) => join(workspace, name);

  return {
    root,
    folder,
    workspace,
    uid,
    background,
    /** Further background jobs over the same folder, as another process has them. */
    open,
    jobs: background.ofSession(uid),
    nextKey,
    request,
    path,
    /** Another session, whose processes are ended with the fixture too. */
    otherUid: () => {
      const other = sessionUidSchema.parse(uuidv7());
      started.push(other);
      return other;
    },
    /** Lets commands go on that wait for it with `waitFor`. */
    give: (name: string) => writeFile(path(name), ''),
    /** The pid that a command wrote into this file of the workspace. */
    pid: async (name: string): Promise<number> => {
      await until(() =>
        readFile(path(name), 'utf8').then(
          (text) => text.endsWith('\n'),
          () => false,
        ),
      );
      return Number(await readFile(path(name), 'utf8'));
    },
    read: (jobs: SessionJobs, jobId: string, { waitMs = 0, idempotencyKey = nextKey() } = {}) =>
      jobs.output({ jobId, waitMs, idempotencyKey, signal: new AbortController().signal }),
    remove: async () => {
      // All of them: none writes any more when the folder is removed.
      await Promise.all(opened.map((jobs) => jobs.stop()));
      for (const session of started) await killMarkedProcesses(session);
      await rm(root, { recursive: true, force: true });
    },
  };
}

export type JobsFixture = Awaited<ReturnType<typeof createJobsFixture>>;

/** Shell that waits until a file is there. */
export const waitFor = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`;

/** All that a read shows, with the place where something is left out. */
export function shown({ head, omittedBytes, tail }: JobOutput): string {
  return omittedBytes === 0 ? head + tail : `${head}<${String(omittedBytes)}>${tail}`;
}
