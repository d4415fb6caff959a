/**
 * Runs a shell command on this host: `bash -c` in a process group of its own, watched until all of it has ended.
 *
 * What is spawned for a command is given by a launch: bash itself, or a program around it. What confines a command is
 * in `sandbox/`.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandEnding, CommandRequest, CommandResult } from '../execution-provider.js';
import { errnoOf } from '../file-errors.js';
import { ToolError } from '../tool.js';
import { openFolder, pathForChild } from '../workspace-paths.js';
import { commandMarks, commandProcess, endProcessTree } from './process-tree.js';
import { StreamCapture } from './stream-capture.js';

type CommandChild = ChildProcessByStdio<null, Readable, Readable>;

/** What is spawned for a command. */
export interface CommandLaunch {
  /** A name on the PATH, or an absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Beside the variables that every command has, or in the place of those of the same name. */
  readonly variables: Readonly<Record<string, string>>;
  /** Set where the program is not the command itself. */
  readonly monitor?: CommandMonitor;
  /** Called once the program has been started, or could not be. */
  release(): Promise<void>;
}

/** A program that stands around the command, takes it with it when it dies, and reports on descriptor 3. */
export interface CommandMonitor {
  /** Descriptors of this process that it inherits, as 4 and on. */
  readonly descriptors: readonly number[];
  /**
   * What its end says about the command.
   * @throws ToolError where the command never ran
   */
  settle(end: MonitorEnd): Pick<CommandResult, 'ending' | 'leftovers'>;
}

export interface MonitorEnd {
  readonly ending: CommandEnding;
  readonly report: string;
  /** The beginning of its standard error, which is the command's too. */
  readonly stderr: string;
}

/** Makes a launch ready. @throws ToolError */
export type PrepareLaunch = (request: CommandRequest) => Promise<CommandLaunch>;

const PASSED_VARIABLES = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'USER', 'SHELL', 'TZ'];
const DRAIN_QUIET_MS = 20;
const DRAIN_DEADLINE_MS = 250;
const CLOSE_DEADLINE_MS = 10_000;
const EXIT_DEADLINE_MS = 500;
const FULL_PAUSE_MS = 5;

/** Runs a command as this process itself, unconfined. @throws as {@link runCommand} */
export function runLocalCommand(request: CommandRequest): Promise<CommandResult> {
  return runCommand(request, launchBash);
}

async function launchBash({ command, workdir, scope }: CommandRequest): Promise<CommandLaunch> {
  const folder = await openFolder(workdir ?? '.', scope);
  return {
    program: 'bash',
    args: ['-c', command],
    cwd: pathForChild(folder),
    variables: {},
    release: () => folder.handle.close(),
  };
}

/**
 * Runs a command until it ends, times out or is aborted; what it left running is ended with it.
 * @throws ToolError where it cannot be started, and the signal's reason where that is aborted
 */
export async function runCommand(request: CommandRequest, prepare: PrepareLaunch): Promise<CommandResult> {
  const { timeoutMs, idempotencyKey, signal, output, liveBytes, saveBlob } = request;
  const captured = (stream: 'stdout' | 'stderr') =>
    new StreamCapture(
      (text) => {
        output(stream, text);
      },
      { liveBytes, saveBlob },
    );
  const [stdout, stderr] = [captured('stdout'), captured('stderr')];
  request.signal.throwIfAborted();
  const launch = await prepare(request);
  const { child, exit, pumps } = await start(launch, { idempotencyKey, stdout, stderr });
  const tree = commandProcess(child.pid ?? -1, idempotencyKey, { isMonitored: launch.monitor !== undefined });
  const stop = new AbortController();
  try {
    const first = await Promise.race([
      exit,
      // Never first: it is here for its errors, which end the command.
      pumps.then(() => exit),
      abortOf(signal, stop.signal),
      delay(timeoutMs, 'timed-out' as const, { signal: stop.signal }),
    ]);
    if (typeof first === 'string') {
      await endProcessTree(tree);
      await Promise.race([exit, delay(EXIT_DEADLINE_MS)]);
    }
    // Not until the pipes close: what the command left running may hold them as long as it likes.
    await Promise.race([pumps, quiet([stdout, stderr], DRAIN_DEADLINE_MS)]);
    const leftovers = await endProcessTree(tree);
    if (first === 'aborted') throw signal.reason;
    // Now they close, once all is read; unless a process holds one that is out of reach.
    await Promise.race([pumps, quiet([stdout, stderr], CLOSE_DEADLINE_MS)]);
    const streams = { stdout: await stdout.finish(), stderr: await stderr.finish() };
    if (first === 'timed-out') return { ending: { kind: 'timed-out' }, ...streams, leftovers: 0 };
    const { ending, report } = first;
    if (launch.monitor === undefined) return { ending, ...streams, leftovers };
    return { ...launch.monitor.settle({ ending, report, stderr: streams.stderr.head }), ...streams };
  } catch (error) {
    await endProcessTree(tree);
    throw error;
  } finally {
    stop.abort();
    child.stdout.destroy();
    child.stderr.destroy();
    reportStream(child)?.destroy();
    await stdout.dispose();
    await stderr.dispose();
  }
}

/** How the child ended; `report` is '' where it is the command itself. */
type ChildExit = Pick<MonitorEnd, 'ending' | 'report'>;

interface StartedCommand {
  readonly child: CommandChild;
  readonly exit: Promise<ChildExit>;
  /** Settles when both outputs have ended. */
  readonly pumps: Promise<unknown>;
}

interface StartOptions {
  readonly idempotencyKey: string;
  readonly stdout: StreamCapture;
  readonly stderr: StreamCapture;
}

async function start(
  { program, args, cwd, variables, monitor, ...launch }: CommandLaunch,
  { idempotencyKey, stdout, stderr }: StartOptions,
): Promise<StartedCommand> {
  try {
    const child = spawn(program, args, {
      cwd,
      env: { ...commandEnvironment(idempotencyKey), ...variables },
      // Its own group and session, so that it can be ended as a whole and never reads from a terminal.
      detached: true,
      stdio: [
        'ignore',
        'pipe',
        'pipe',
        ...(monitor === undefined ? [] : (['pipe', ...monitor.descriptors] as const)),
      ],
    }) as CommandChild;
    if (child.pid === undefined) {
      throw await new Promise<Error>((resolve) => child.once('error', resolve));
    }
    // Listens and reads at once: a short command ends before this function does, and Node.js throws away what nobody
    // reads at the exit.
    const exit = exitOf(child);
    const pumps = Promise.all([pump(child.stdout, stdout), pump(child.stderr, stderr)]);
    child.on('error', () => {
      // Only a failed kill or message is told here once it runs, and neither is done through the child.
    });
    return { child, exit, pumps };
  } catch (error) {
    throw startError(error, program);
  } finally {
    // The child has entered the folder by now: spawn returns after its exec.
    await launch.release();
  }
}

function startError(error: unknown, program: string): ToolError {
  const errno = errnoOf(error);
  const why =
    errno === 'E2BIG'
      ? 'the command is too long; write it into a file and run that'
      : errno === 'ENOENT'
        ? `there is no ${program}${isAbsolute(program) ? '' : ' on the PATH'}`
        : error instanceof Error
          ? error.message
          : String(error);
  return new ToolError('TOOL_ERROR', `The command could not be started: ${why}.`, { cause: error });
}

/** The environment of a command: a chosen list, so that no key or secret of the worker reaches it. */
function commandEnvironment(idempotencyKey: string): NodeJS.ProcessEnv {
  const passed = Object.entries(process.env).filter(
    ([name]) => PASSED_VARIABLES.includes(name) || name.startsWith('LC_'),
  );
  return {
    ...Object.fromEntries(passed),
    TURNKEEPER_IDEMPOTENCY_KEY: idempotencyKey,
    ...commandMarks(idempotencyKey),
  };
}

async function exitOf(child: CommandChild): Promise<ChildExit> {
  const ending = new Promise<CommandEnding>((resolve) => {
    child.once('exit', (exitCode, signal) => {
      resolve(signal === null ? { kind: 'exited', exitCode: exitCode ?? 0 } : { kind: 'signalled', signal });
    });
  });
  const report = reportOf(child);
  return { ending: await ending, report: await report };
}

/** Ends with the monitor, which hands its descriptor to nobody. */
async function reportOf(child: CommandChild): Promise<string> {
  let report = '';
  for await (const chunk of reportStream(child) ?? []) report += String(chunk);
  return report;
}

function reportStream(child: CommandChild): Readable | undefined {
  const stream = child.stdio[3];
  return stream instanceof Readable ? stream : undefined;
}

async function pump(stream: Readable, capture: StreamCapture): Promise<void> {
  try {
    for await (const chunk of stream) {
      await capture.add(chunk as Uint8Array);
      // Slows a flood down, so that it leaves time for everything else in this process.
      if (capture.full) await delay(FULL_PAUSE_MS);
    }
  } catch (error) {
    // Destroyed while a grandchild held the pipe: what was read counts.
    if (!stream.destroyed || errnoOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

/** Settles once nothing more has come in for a moment, or after a deadline. */
async function quiet(captures: readonly StreamCapture[], deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  const count = () => captures.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = -1;
  while ((before !== count() || captures.some(({ busy }) => busy)) && performance.now() < deadline) {
    before = count();
    await delay(DRAIN_QUIET_MS);
  }
}

function abortOf(signal: AbortSignal, done: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    signal.addEventListener(
      'abort',
      () => {
        resolve('aborted');
      },
      { once: true, signal: done },
    );
    if (signal.aborted) resolve('aborted');
  });
}
