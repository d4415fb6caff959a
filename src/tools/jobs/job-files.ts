/**
 * The files of one job: `job.json`, what it is, which is there from the first moment on; `ended.json`, how it ended;
 * `kill`, that another process wants it ended; beside them its output and who has read it.
 *
 * Nothing in them is ever written over: the first ending counts, so a process that was given up and wakes changes none.
 */
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errnoOf, isMissing } from '../file-errors.js';
import { type JobEnding, jobEndingSchema } from './session-jobs.js';

/** A name without separators, so that no id leads out of the session's folder. */
const JOB_ID = /^job-[\w.-]+$/;
const JOB_FILE = 'job.json';
const ENDED_FILE = 'ended.json';
const KILL_FILE = 'kill';

/** A process, told from a later one with the same pid. */
export const jobOwnerSchema = z.object({ pid: z.number(), startTime: z.string() });
export type JobOwner = z.infer<typeof jobOwnerSchema>;

const jobRecordSchema = z.object({
  idempotencyKey: z.string(),
  command: z.string(),
  /** Milliseconds since the Unix epoch. */
  startedAt: z.number(),
  owner: jobOwnerSchema,
});
export type JobRecord = z.infer<typeof jobRecordSchema>;

export interface JobFiles extends JobRecord {
  readonly jobId: string;
  readonly folder: string;
}

/** The id that a call's idempotency key `uid/turn.step.index` gives its job. */
export function jobIdOf(idempotencyKey: string): string {
  return `job-${idempotencyKey.slice(idempotencyKey.lastIndexOf('/') + 1)}`;
}

/** The jobs in the folder of a session, the oldest first. */
export function listJobs(sessionFolder: string): readonly JobFiles[] {
  return namesIn(sessionFolder)
    .flatMap((jobId) => findJob(sessionFolder, jobId) ?? [])
    .sort((a, b) => a.startedAt - b.startedAt);
}

/** The job with this id, whatever the text that is given as one. */
export function findJob(sessionFolder: string, jobId: string): JobFiles | undefined {
  if (!JOB_ID.test(jobId)) return undefined;
  const folder = join(sessionFolder, jobId);
  const record = readJson(join(folder, JOB_FILE), jobRecordSchema);
  return record === undefined ? undefined : { ...record, jobId, folder };
}

/** Makes the job's folder, with its record; undefined where it is there already, whoever made it. */
export function claimJob(sessionFolder: string, record: JobRecord): JobFiles | undefined {
  mkdirSync(sessionFolder, { recursive: true, mode: 0o700 });
  const jobId = jobIdOf(record.idempotencyKey);
  const folder = join(sessionFolder, jobId);
  // Renamed when it is complete: nobody sees a job without its owner, and one of two claims fails.
  const draft = mkdtempSync(join(sessionFolder, '.claim-'));
  writeFileSync(join(draft, JOB_FILE), JSON.stringify(record), { mode: 0o600 });
  try {
    renameSync(draft, folder);
    return { ...record, jobId, folder };
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (existsSync(folder)) return undefined;
    throw error;
  }
}

/** How the job ended; undefined while nobody has said so. */
export function readEnding({ folder }: JobFiles): JobEnding | undefined {
  const file = join(folder, ENDED_FILE);
  if (!existsSync(file)) return undefined;
  // It appears complete. Only a power cut garbles it, and no job outlives that.
  return readJson(file, jobEndingSchema) ?? { kind: 'lost' };
}

/** Records how the job ended, and returns the ending that counts: the one that was recorded first. */
export function recordEnding(job: JobFiles, ending: JobEnding): JobEnding {
  const draft = join(job.folder, `${randomUUID()}.tmp`);
  writeFileSync(draft, JSON.stringify(ending), { mode: 0o600 });
  try {
    // A link, for it fails where there is one, and a rename does not.
    linkSync(draft, join(job.folder, ENDED_FILE));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  return readEnding(job) ?? ending;
}

/** Tells the job's owner that the end which it sees now was wanted. */
export function requestKill({ folder }: JobFiles): void {
  writeFileSync(join(folder, KILL_FILE), '', { mode: 0o600 });
}

export function isKillRequested({ folder }: JobFiles): boolean {
  return existsSync(join(folder, KILL_FILE));
}

/** Removes the job with its output. */
export function removeJob({ folder }: JobFiles): void {
  rmSync(folder, { recursive: true, force: true });
}

/** The names in a folder; none where it does not exist. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function readJson<T>(file: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    // Missing, or garbled by a power cut: there is no such job any more.
    return undefined;
  }
}
