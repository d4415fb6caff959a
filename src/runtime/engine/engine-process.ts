/**
 * One process of the engine: started by us, or found running and adopted. Owns how it is started, watched and ended.
 */
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { identifyProcess, isRunning, type ProcessIdentity } from '../home/process-identity.js';
import { EngineError } from './engine-error.js';
import type { EngineLog } from './engine-log.js';

/** The engine closes its database within about a second. */
const END_GRACE_MS = 10_000;
const WATCH_MS = 100;
/** What the engine may see of the environment: no credentials, and nothing that configures the CLI. */
const PASSED_VARIABLES = ['PATH', 'TMPDIR', 'TZ', 'LANG', 'GOMAXPROCS', 'GOMEMLIMIT', 'GOGC'] as const;

export interface EngineProcess {
  readonly identity: ProcessIdentity;
  /** Resolves with how the process ended, such as `signal SIGKILL`; never rejects. */
  readonly exited: Promise<string>;
  /** Asks it to end, and after a grace makes it. Resolves when it has ended. */
  end(): Promise<void>;
  /** Ends it at once, also where it stands still. */
  kill(): void;
}

export interface EngineCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** Its working folder, and its HOME, so that no file of the user configures it. */
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Starts the engine in a session of its own: a Ctrl-C at the terminal does not reach it, so that the worker can stop
 * first, and it outlives this process if that is killed.
 *
 * @throws EngineError `ENGINE_START_FAILED` where the program cannot be executed.
 */
export function spawnEngine({ program, args, home, env }: EngineCommand, log: EngineLog): EngineProcess {
  const passed = PASSED_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
  const child = spawn(program, args, {
    cwd: home,
    env: { ...Object.fromEntries(passed), HOME: home } as NodeJS.ProcessEnv,
    detached: true,
    stdio: ['ignore', log.descriptor, log.descriptor],
  });
  closeSync(log.descriptor);
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? `exit code ${String(code)}` : `signal ${signal}`);
    });
    child.once('error', (error) => {
      resolve(error.message);
    });
  });
  child.unref();
  if (child.pid === undefined) {
    throw new EngineError(
      'ENGINE_START_FAILED',
      `The Temporal CLI ${program} cannot be executed. Check TURNKEEPER_TEMPORAL_CLI and the program's mode.`,
    );
  }
  // Nothing else can have the pid before Node.js has reaped the child, and it has not yet.
  const identity = identifyProcess(child.pid) ?? { pid: child.pid, startTime: 'ended' };
  return {
    identity,
    exited,
    end: () => endProcess(identity, exited),
    kill: () => {
      signalProcess(identity, 'SIGKILL');
    },
  };
}

/** Watches an engine that another process started. */
export function adoptEngine(identity: ProcessIdentity): EngineProcess {
  const exited = watchUntilGone(identity);
  return {
    identity,
    exited,
    end: () => endProcess(identity, exited),
    kill: () => {
      signalProcess(identity, 'SIGKILL');
    },
  };
}

async function watchUntilGone(identity: ProcessIdentity): Promise<string> {
  while (isRunning(identity)) await delay(WATCH_MS, undefined, { ref: false });
  return 'unknown cause: it was not a child of this process';
}

async function endProcess(identity: ProcessIdentity, exited: Promise<string>): Promise<void> {
  if (await isGoneAfter('SIGTERM', identity, exited)) return;
  await isGoneAfter('SIGKILL', identity, exited);
}

async function isGoneAfter(
  signal: NodeJS.Signals,
  identity: ProcessIdentity,
  exited: Promise<string>,
): Promise<boolean> {
  signalProcess(identity, signal);
  const waiting = new AbortController();
  try {
    // The timer also keeps this process alive while it waits.
    return await Promise.race([
      exited.then(() => true),
      delay(END_GRACE_MS, false, { signal: waiting.signal }).catch(() => false),
    ]);
  } finally {
    waiting.abort();
  }
}

function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch {
    // It ended between the look and the signal.
  }
}
