/**
 * The background commands of all sessions: each runs in the process that started it, and its files are for every process
 * of this host that has the same folder, `<folder>/<session uid>/<job id>`.
 *
 * Owns which jobs run here, and tells those that run elsewhere from those whose process has ended. What is in the files
 * is in `job-files.ts`, `output-log.ts` and `read-ranges.ts`.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, type SessionUid, sessionUidSchema } from '../../contract/ids.js';
import type { ExecutionProvider } from '../execution-provider.js';
import { ToolError } from '../tool.js';
import {
  claimJob,
  findJob,
  jobIdOf,
  type JobFiles,
  type JobOwner,
  listJobs,
  namesIn,
  readEnding,
  recordEnding,
  removeJob,
  requestKill,
} from './job-files.js';
import { outputCheck, takeOutput } from './job-reading.js';
import { type RunningJob, runJob } from './running-job.js';
import type {
  JobEnding,
  JobOutput,
  JobReadRequest,
  JobRequest,
  JobStatus,
  SessionJobs,
} from './session-jobs.js';

/** Per session. */
export const JOB_LIMITS = {
  /** How many jobs run at the same time. */
  running: 16,
  /** How many jobs are kept, with those that have ended; of these the oldest go first. */
  kept: 64,
  /** How much of a job's output is kept, in bytes: the last of it, at least half as much and at most all. */
  keptBytes: 8 * 1024 * 1024,
};

export interface BackgroundJobsDeps {
  /** Has a folder for each session; made where it is missing. */
  readonly folder: string;
  readonly execution: Pick<ExecutionProvider, 'runCommand'>;
  readonly clock: Clock;
  /** This process. */
  readonly owner: JobOwner;
  /** Whether the very process runs still. */
  readonly isRunning: (owner: JobOwner) => boolean;
  /** Ends all processes that carry the idempotency key as their marker. */
  readonly endMarked: (idempotencyKey: string) => Promise<unknown>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Changes to {@link JOB_LIMITS}. */
  readonly limits?: Partial<typeof JOB_LIMITS>;
}

export interface BackgroundJobs {
  ofSession(uid: SessionUid): SessionJobs;
  /** Ends the jobs of a deleted session, removes all that was kept of them, and starts none for it any more. */
  endSession(uid: SessionUid): Promise<void>;
  /** Does so for each session that does not exist any more: what a process that was killed did not get to. */
  sweep(exists: (uid: SessionUid) => Promise<boolean>): Promise<void>;
  /** Ends all jobs that run in this process and records them as lost. From now on none is started. */
  stop(): Promise<void>;
}

/** A start that fails does so well within this time; a command that lives longer counts as started. */
const START_MS = 200;
const POLL_MS = 50;
/** How long another process may take to record the end of a job whose processes were ended. */
const KILL_DEADLINE_MS = 5000;

interface LaunchedJob extends RunningJob {
  /** Rejects where the command could not be started. */
  readonly started: Promise<void>;
}

export function createBackgroundJobs(deps: BackgroundJobsDeps): BackgroundJobs {
  const limits = { ...JOB_LIMITS, ...deps.limits };
  /** By their folders, as in `unrecorded`. */
  const runningHere = new Map<string, LaunchedJob>();
  /** Endings that could not be written down. */
  const unrecorded = new Map<string, JobEnding>();
  /** A uid is never given again, so whatever comes late for one of these starts nothing. */
  const endedSessions = new Set<SessionUid>();
  let stopped = false;

  const folderOf = (uid: SessionUid) => join(deps.folder, uid);
  const endingOf = (job: JobFiles) => readEnding(job) ?? unrecorded.get(job.folder);

  /** Whether a process is there that sees to the job. */
  function isCaredFor(job: JobFiles): boolean {
    if (endingOf(job) !== undefined) return false;
    const { pid, startTime } = job.owner;
    return (pid === deps.owner.pid && startTime === deps.owner.startTime) || deps.isRunning(job.owner);
  }

  function requireJob(uid: SessionUid, jobId: string): JobFiles {
    const job = findJob(folderOf(uid), jobId);
    if (job !== undefined) return job;
    const known = listJobs(folderOf(uid)).map((candidate) => candidate.jobId);
    const advice =
      known.length === 0
        ? 'This session has none: bash starts one with run_in_background.'
        : `The jobs of this session: ${known.join(', ')}.`;
    throw new ToolError('TOOL_ERROR', `There is no job ${JSON.stringify(jobId)}. ${advice}`);
  }

  async function statusOf(job: JobFiles): Promise<JobStatus> {
    const ending = endingOf(job);
    if (ending !== undefined) return ending;
    if (isCaredFor(job)) return { kind: 'running' };
    // Recorded first: should its process wake now, it does not take what is done here for an end of the command's own.
    const recorded = recordEnding(job, { kind: 'lost' });
    await deps.endMarked(job.idempotencyKey);
    return recorded;
  }

  /** Synchronous up to the start, so that two starts see each other. Undefined where the job was started before. */
  function launch(uid: SessionUid, request: JobRequest): LaunchedJob | undefined {
    if (stopped) throw new ToolError('TOOL_ERROR', 'It was not started: the server stops.');
    if (endedSessions.has(uid))
      throw new ToolError('TOOL_ERROR', 'It was not started: the session is deleted.');
    const jobs = listJobs(folderOf(uid));
    const { idempotencyKey, command } = request;
    if (jobs.some((job) => job.idempotencyKey === idempotencyKey)) return undefined;
    const running = jobs.filter(isCaredFor);
    if (running.length >= limits.running) throw tooManyJobs(running);
    const record = { idempotencyKey, command, startedAt: deps.clock(), owner: deps.owner };
    const files = claimJob(folderOf(uid), record);
    if (files === undefined) return undefined;
    const job = runJob(files, request, { execution: deps.execution, keptBytes: limits.keptBytes });
    const launched = { ...job, started: startOf(job) };
    runningHere.set(files.folder, launched);
    void job.ended.then(({ ending, recordError, refused }) => {
      runningHere.delete(files.folder);
      if (refused !== undefined) {
        const { jobId } = files;
        deps.logger.warn(
          { job: jobId, uid, ending, refused },
          'a job was given up, and its end is not recorded',
        );
      }
      if (recordError === undefined) return;
      unrecorded.set(files.folder, ending);
      deps.logger.warn({ err: recordError, job: files.jobId, uid }, 'the end of a job could not be recorded');
    });
    const surplus = Math.max(0, jobs.length + 1 - limits.kept);
    const ended = jobs.filter((job) => !isCaredFor(job));
    ended.slice(0, surplus).forEach(removeJob);
    return launched;
  }

  async function start(uid: SessionUid, request: JobRequest): Promise<string> {
    const jobId = jobIdOf(request.idempotencyKey);
    const job = runningHere.get(join(folderOf(uid), jobId)) ?? launch(uid, request);
    await job?.started;
    return jobId;
  }

  async function output(uid: SessionUid, request: JobReadRequest): Promise<JobOutput> {
    const { jobId, waitMs, idempotencyKey, signal } = request;
    const deadline = performance.now() + waitMs;
    const isThere = outputCheck(requireJob(uid, jobId), idempotencyKey);
    for (;;) {
      signal.throwIfAborted();
      // Looked up each time: the session may be deleted meanwhile.
      const job = requireJob(uid, jobId);
      const status = await statusOf(job);
      if (status.kind !== 'running' || isThere() || performance.now() >= deadline) {
        return takeOutput(job, idempotencyKey, status);
      }
      await pause(signal);
    }
  }

  async function kill(job: JobFiles): Promise<JobStatus> {
    const here = runningHere.get(job.folder);
    if (here !== undefined) return (await here.end('killed')).ending;
    let status = await statusOf(job);
    if (status.kind !== 'running') return status;
    // Its process sees the command end, and this says why.
    requestKill(job);
    await deps.endMarked(job.idempotencyKey);
    const deadline = performance.now() + KILL_DEADLINE_MS;
    while ((status = await statusOf(job)).kind === 'running') {
      if (performance.now() >= deadline) throw new ToolError('TOOL_ERROR', `${job.jobId} did not end.`);
      await delay(POLL_MS);
    }
    return status;
  }

  async function endSession(uid: SessionUid): Promise<void> {
    endedSessions.add(uid);
    for (const job of listJobs(folderOf(uid))) {
      await kill(job).catch((error: unknown) => {
        deps.logger.warn({ err: error, job: job.jobId, uid }, 'a job of a deleted session did not end');
      });
    }
    // Again where it is not empty: another process may be writing down an end just then.
    await rm(folderOf(uid), { recursive: true, force: true, maxRetries: 3 });
  }

  return {
    ofSession: (uid) => ({
      start: (request) => start(uid, request),
      output: (request) => output(uid, request),
      kill: async (jobId) => kill(requireJob(uid, jobId)),
    }),
    endSession,
    sweep: async (exists) => {
      for (const name of namesIn(deps.folder)) {
        const uid = sessionUidSchema.safeParse(name);
        if (uid.success && !(await exists(uid.data))) await endSession(uid.data);
      }
    },
    stop: async () => {
      stopped = true;
      await Promise.all([...runningHere.values()].map((job) => job.end('lost')));
    },
  };
}

/** Waits until the command counts as started. A job that failed before that leaves nothing behind. */
async function startOf({ files, ended }: RunningJob): Promise<void> {
  const early = await Promise.race([ended, delay(START_MS)]);
  if (early?.ending.kind !== 'failed') return;
  removeJob(files);
  throw early.error;
}

function tooManyJobs(running: readonly JobFiles[]): ToolError {
  const ids = running.map(({ jobId }) => jobId).join(', ');
  return new ToolError(
    'TOOL_ERROR',
    `It was not started: ${String(running.length)} jobs of this session run already, as many as may. ` +
      `End one with job_kill, or wait until one has ended: ${ids}.`,
  );
}

async function pause(signal: AbortSignal): Promise<void> {
  try {
    await delay(POLL_MS, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
