/**
 * The background commands of one session, as tools see them: started by `bash`, read by `job_output`, ended by `job_kill`.
 *
 * Owns the interface. What runs them and keeps their output is `background-jobs.ts`.
 */
import type { CommandRequest } from '../execution-provider.js';

export type JobStatus =
  | { readonly kind: 'running' }
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed-out' }
  /** By `job_kill`, or with the session. */
  | { readonly kind: 'killed' }
  /** Its worker has ended, and the command with it. */
  | { readonly kind: 'lost' };

/** What a job has written since it was last read, both outputs in the order in which they came. */
export interface JobOutput {
  readonly status: JobStatus;
  readonly text: string;
  /** Bytes between the last read and `text` that are not kept any more. */
  readonly omittedBytes: number;
}

export interface SessionJobs {
  /** Starts the command and returns the job's id, which is made from the idempotency key. @throws ToolError where it cannot be started. */
  start(request: Omit<CommandRequest, 'signal' | 'output' | 'saveBlob'>): Promise<string>;
  /**
   * The output since the call before, at once or after up to `waitMs` where there is none yet.
   *
   * @throws ToolError for an unknown id, with those that are known; the signal's reason where it is aborted.
   */
  output(jobId: string, waitMs: number, signal: AbortSignal): Promise<JobOutput>;
  /** Ends the job with all its processes; one that has ended is left as it is. @throws ToolError for an unknown id. */
  kill(jobId: string): Promise<JobStatus>;
}
