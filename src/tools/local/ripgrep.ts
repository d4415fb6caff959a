/** Runs ripgrep on this host and hands over its output record by record. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { errnoOf } from '../file-errors.js';
import { commandMarks } from './process-tree.js';
import { ToolError } from '../tool.js';

export interface RipgrepRequest {
  readonly args: readonly string[];
  /** The folder to run in. */
  readonly cwd: string;
  /** A file descriptor to read from, for a search in one file. */
  readonly input?: number;
  /** What ends a record: NUL or a line feed. */
  readonly separator: 0 | 10;
  /** A longer record is cut to this. */
  readonly maxRecordBytes: number;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Gets each record without its separator; false ends the search. */
  readonly onRecord: (record: Buffer) => boolean;
}

export interface RipgrepEnd {
  readonly timedOut: boolean;
  readonly problems: string;
}

const MAX_PROBLEM_BYTES = 2000;

/**
 * Runs ripgrep to its end, or until `onRecord` has enough.
 * @throws ToolError TOOL_ERROR where there is no ripgrep, INVALID_ARGS where it refuses its arguments; the signal's
 * reason where that is aborted
 */
export async function runRipgrep(request: RipgrepRequest): Promise<RipgrepEnd> {
  const { signal, timeoutMs, onRecord } = request;
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  const child = spawn(await ripgrepPath(), ['--no-config', ...request.args], {
    cwd: request.cwd,
    stdio: [request.input ?? 'ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...commandMarks(request.idempotencyKey) },
    signal: AbortSignal.any([signal, timeout]),
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let enough = false;
  const records = new RecordSplitter(request.separator, request.maxRecordBytes, (record) => {
    if (!enough && !onRecord(record)) {
      enough = true;
      child.kill('SIGKILL');
    }
  });
  let problems = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    if (!enough) records.add(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    if (problems.length < MAX_PROBLEM_BYTES) problems += chunk.toString('utf8');
  });
  let exitCode: number | null;
  try {
    exitCode = await ended;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (timeout.aborted) return { timedOut: true, problems };
    throw new ToolError('TOOL_ERROR', `ripgrep cannot be run: ${String(errnoOf(error))}.`, { cause: error });
  }
  // Exit code 2 with matches is a search that could not read some places; without any output the arguments were wrong.
  if (exitCode === 2 && !records.any && /regex|glob|parse error/i.test(problems)) {
    throw new ToolError('INVALID_ARGS', `The search pattern is invalid: ${problems.trim()}`);
  }
  return { timedOut: false, problems: problems.slice(0, MAX_PROBLEM_BYTES).trim() };
}

/** Splits bytes at a separator; the end of a record that is too long is dropped. */
class RecordSplitter {
  any = false;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(
    private readonly separator: number,
    private readonly maxBytes: number,
    private readonly onRecord: (record: Buffer) => void,
  ) {}

  add(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(this.separator); at !== -1; at = chunk.indexOf(this.separator, from)) {
      this.#keep(chunk.subarray(from, at));
      this.any = true;
      this.onRecord(Buffer.concat(this.#parts));
      this.#parts = [];
      this.#bytes = 0;
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    const kept = part.subarray(0, this.maxBytes - this.#bytes);
    if (kept.length === 0) return;
    this.#parts.push(kept);
    this.#bytes += kept.length;
  }
}

let found: Promise<string> | undefined;

/** The path of ripgrep: of the npm package that ships it, else on the PATH. Looked for once. */
function ripgrepPath(): Promise<string> {
  found ??= import('@vscode/ripgrep').then(
    ({ rgPath }) => rgPath,
    () => pathOnPath('rg'),
  );
  return found;
}

function pathOnPath(name: string): string {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder.
    }
  }
  throw new ToolError(
    'TOOL_ERROR',
    'There is no ripgrep: install the package @vscode/ripgrep or rg on the PATH.',
  );
}
