/** A job in the process that runs it: watches the command to its end and writes down what it says and how it ended. */
import type { CommandEnding, CommandResult, ExecutionProvider } from '../execution-provider.js';
import { assertNever } from '../../contract/failures.js';
import { isKillRequested, type JobFiles, recordEnding } from './job-files.js';
import { createOutputLog, type OutputLog } from './output-log.js';
import type { JobEnding, JobRequest } from './session-jobs.js';

export interface RunningJob {
  readonly files: JobFiles;
  /** How it ended, once that is recorded or cannot be. Never rejects. */
  readonly ended: Promise<JobEnd>;
  /** Ends the command with all its processes, where it has not ended. */
  end(as: 'killed' | 'lost'): Promise<JobEnd>;
}

export interface JobEnd {
  readonly ending: JobEnding;
  /** Why the ending is `failed`. */
  readonly error?: unknown;
  /** Why the ending is not recorded. */
  readonly recordError?: unknown;
  /** How it ended here, where another process had given it up before and that ending stands. */
  readonly refused?: JobEnding;
}

/** Runs the command of a job whose folder was just made. */
export function runJob(
  files: JobFiles,
  request: JobRequest,
  {
    execution,
    keptBytes,
  }: { readonly execution: Pick<ExecutionProvider, 'runCommand'>; readonly keptBytes: number },
): RunningJob {
  const controller = new AbortController();
  const log = createOutputLog(files.folder, keptBytes);
  let endedAs: 'killed' | 'lost' = 'lost';

  async function run(): Promise<JobEnd> {
    try {
      const result = await execution.runCommand({
        ...request,
        signal: controller.signal,
        liveBytes: Number.MAX_SAFE_INTEGER,
        output: (_stream, text) => {
          log.append(text);
        },
      });
      noteUnshown(log, result);
      return { ending: isKillRequested(files) ? { kind: 'killed' } : jobEnding(result.ending, request) };
    } catch (error) {
      if (controller.signal.aborted) return { ending: { kind: endedAs } };
      return { ending: { kind: 'failed', message: messageOf(error) }, error };
    }
  }

  async function runAndRecord(): Promise<JobEnd> {
    const end = await run();
    try {
      // After all output: whoever sees the ending finds all of it.
      const ending = recordEnding(files, end.ending);
      return { ...end, ending, ...(ending.kind === end.ending.kind ? {} : { refused: end.ending }) };
    } catch (recordError) {
      return { ...end, recordError };
    }
  }

  const ended = runAndRecord();
  return {
    files,
    ended,
    end: (as) => {
      if (!controller.signal.aborted) {
        endedAs = as;
        controller.abort(new Error(`The job is to end: ${as}.`));
      }
      return ended;
    },
  };
}

function jobEnding(ending: CommandEnding, { timeoutMs }: JobRequest): JobEnding {
  switch (ending.kind) {
    case 'exited':
    case 'signalled':
      return ending;
    case 'timed-out':
      return { kind: 'timed-out', afterMs: timeoutMs };
    default:
      return assertNever(ending);
  }
}

/** What was not said while the command ran: what binary output is, and what was left running. */
function noteUnshown(log: OutputLog, { stdout, stderr, leftovers }: CommandResult): void {
  for (const { binary, bytes } of [stdout, stderr]) {
    if (binary !== undefined) log.note(`[binary output: ${String(bytes)} bytes, ${binary}]`);
  }
  if (leftovers > 0) {
    log.note(`[${String(leftovers)} ${leftovers === 1 ? 'process' : 'processes'} left running and ended]`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
