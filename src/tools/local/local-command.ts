/**
 * Runs a shell command on this host: `bash -c` in a process group of its own, watched until all of it has ended.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandEnding, CommandRequest, CommandResult } from '../execution-provider.js';
import { errnoOf } from '../file-errors.js';
import { ToolError } from '../tool.js';
import { openFolder, pathForChild } from '../workspace-paths.js';
import { COMMAND_MARKER, commandProcess, endProcessTree } from './process-tree.js';
import { StreamCapture } from './stream-capture.js';

type CommandChild = ChildProcessByStdio<null, Readable, Readable>;

const PASSED_VARIABLES = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'USER', 'SHELL', 'TZ'];
const DRAIN_QUIET_MS = 20;
const DRAIN_DEADLINE_MS = 250;
const CLOSE_DEADLINE_MS = 10_000;
const EXIT_DEADLINE_MS = 500;
const FULL_PAUSE_MS = 5;

/**
 * Runs a command until it ends, times out or is aborted; what it left running is ended with it.
 * @throws ToolError where it cannot be started, and the signal's reason where that is aborted
 */
export async function runLocalCommand(request: CommandRequest): Promise<CommandResult> {
  const { timeoutMs, idempotencyKey, signal, output, saveBlob } = request;
  const stdout = new StreamCapture((text) => {
    output('stdout', text);
  });
  const stderr = new StreamCapture((text) => {
    output('stderr', text);
  });
  const { child, exit, pumps } = await start(request, stdout, stderr);
  const tree = commandProcess(child.pid ?? -1, idempotencyKey);
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
    return {
      ending: first === 'timed-out' ? { kind: 'timed-out' } : first,
      stdout: await stdout.finish(saveBlob),
      stderr: await stderr.finish(saveBlob),
      leftovers: first === 'timed-out' ? 0 : leftovers,
    };
  } catch (error) {
    await endProcessTree(tree);
    throw error;
  } finally {
    stop.abort();
    child.stdout.destroy();
    child.stderr.destroy();
    await stdout.dispose();
    await stderr.dispose();
  }
}

interface StartedCommand {
  readonly child: CommandChild;
  readonly exit: Promise<CommandEnding>;
  /** Settles when both outputs have ended. */
  readonly pumps: Promise<unknown>;
}

async function start(
  request: CommandRequest,
  stdout: StreamCapture,
  stderr: StreamCapture,
): Promise<StartedCommand> {
  request.signal.throwIfAborted();
  const folder = await openFolder(request.workdir ?? '.', request.scope);
  try {
    const child = spawn('bash', ['-c', request.command], {
      cwd: pathForChild(folder),
      env: commandEnvironment(request.idempotencyKey),
      // Its own group and session, so that it can be ended as a whole and never reads from a terminal.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
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
    throw startError(error);
  } finally {
    // The child has entered the folder by now: spawn returns after its exec.
    await folder.handle.close();
  }
}

function startError(error: unknown): ToolError {
  const errno = errnoOf(error);
  const why =
    errno === 'E2BIG'
      ? 'the command is too long; write it into a file and run that'
      : errno === 'ENOENT'
        ? 'there is no bash on the PATH'
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
    [COMMAND_MARKER]: idempotencyKey,
  };
}

function exitOf(child: CommandChild): Promise<CommandEnding> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => {
      resolve(signal === null ? { kind: 'exited', exitCode: exitCode ?? 0 } : { kind: 'signalled', signal });
    });
  });
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
