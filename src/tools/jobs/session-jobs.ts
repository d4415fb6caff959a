/**
 * The background commands of one session, as tools see them: started by `bash`, read by `job_output`, ended by `job_kill`.
 *
 * Owns the interface. What runs them and keeps their output is `background-jobs.ts`.
 */
import { z } from 'zod';
import { assertNever } from '../../contract/failures.js';
import type { CommandRequest } from '../execution-provider.js';

/** How a job ended; it ends once. */
export const jobEndingSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('exited'), exitCode: z.number() }),
  z.object({ kind: z.literal('signalled'), signal: z.string() }),
  z.object({ kind: z.literal('timed-out'), afterMs: z.number() }),
  /** By `job_kill`, or with the session. */
  z.object({ kind: z.literal('killed') }),
  /** Its worker has ended, and the command with it. */
  z.object({ kind: z.literal('lost') }),
  /** It could not be started, or not be watched to its end. */
  z.object({ kind: z.literal('failed'), message: z.string() }),
]);
export type JobEnding = z.infer<typeof jobEndingSchema>;

export type JobStatus = { readonly kind: 'running' } | JobEnding;

export type JobRequest = Omit<CommandRequest, 'signal' | 'output' | 'saveBlob'>;

export interface JobReadRequest {
  readonly jobId: string;
  /** How long to wait for output where there is none yet; a job that has ended is not waited for. */
  readonly waitMs: number;
  /** Of the call that reads: the same call gets the same output again, another one what came after it. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/**
 * What a job has written since the call before read it, both outputs in the order in which they came: `head`, then
 * `omittedBytes` that were too many to show, then `tail`. No character is split.
 */
export interface JobOutput {
  readonly status: JobStatus;
  /** Bytes before `head` that are not kept any more. */
  readonly droppedBytes: number;
  readonly head: string;
  readonly omittedBytes: number;
  readonly tail: string;
  /** Bytes after `tail`, for the next call; more than 0 only where a call is repeated. */
  readonly laterBytes: number;
}

export interface SessionJobs {
  /**
   * Starts the command and returns the job's id, which is made from the idempotency key; with a key that was used
   * before it starts nothing.
   *
   * @throws ToolError where it cannot be started, or where too many jobs of the session run.
   */
  start(request: JobRequest): Promise<string>;
  /** @throws ToolError for an unknown id, with those that are known; the signal's reason where it is aborted. */
  output(request: JobReadRequest): Promise<JobOutput>;
  /**
   * Ends the job with all its processes; one that has ended is left as it is.
   * @throws ToolError for an unknown id, with those that are known, and where the processes do not end.
   */
  kill(jobId: string): Promise<JobStatus>;
}

/** The last line of a result about a job. */
export function jobStatusLine(status: JobStatus): string {
  return `[${describeStatus(status)}]`;
}

function describeStatus(status: JobStatus): string {
  switch (status.kind) {
    case 'running':
    case 'killed':
      return status.kind;
    case 'exited':
      return `exit code: ${String(status.exitCode)}`;
    case 'signalled':
      return `killed by signal ${status.signal}`;
    case 'timed-out':
      return `timed out after ${String(status.afterMs)} ms`;
    case 'lost':
      return 'lost: the server that ran it has stopped, and the command with it';
    case 'failed':
      return `failed: ${status.message}`;
    default:
      return assertNever(status);
  }
}
