/**
 * A real `turnkeeper serve` in a process of its own, to be killed for real. Needs the build (`npm run build`).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from '../../src/client/client.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface ServeOptions {
  readonly home: string;
  /** Default: any free port. */
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Where standard error goes; default: into `output`. */
  readonly logFile?: string;
}

export interface ServeProcess {
  readonly url: string;
  readonly client: Client;
  readonly pid: number;
  /** What it has written to standard output and error so far. */
  output(): string;
  /** Sends the signal and resolves with the exit code, null where the signal ended it. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
}

export interface FinishedProcess {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts `serve` on a free port and resolves when it is ready. Rejects with its output where it ends before. */
export async function startServe(options: ServeOptions): Promise<ServeProcess> {
  const child = spawnCli(
    ['serve', '--home', options.home, '--port', String(options.port ?? 0)],
    options.env,
    options.logFile,
  );
  let output = '';
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const url = await new Promise<string>((resolve, reject) => {
    const read = (part: Buffer) => {
      output += part.toString('utf8');
      const found = /API\s+(http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => {
      reject(new Error(`serve ended with ${String(code)} before it was ready:\n${output}`));
    });
  });
  return {
    url,
    client: createClient({ baseUrl: url }),
    pid: child.pid ?? 0,
    output: () => output,
    end: (signal) => {
      child.kill(signal);
      return exited;
    },
  };
}

/** A port that is free now, for a server that is to come back under the same address. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs a command to its end. */
export async function runCli(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<FinishedProcess> {
  const child = spawnCli(args, options.env);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (part: Buffer) => (stdout += part.toString('utf8')));
  child.stderr?.on('data', (part: Buffer) => (stderr += part.toString('utf8')));
  child.stdin?.end(options.input ?? '');
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

/** Starts a command without waiting for it. */
export function spawnCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  logFile?: string,
): ChildProcess {
  const log = logFile === undefined ? undefined : openSync(logFile, 'a');
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['pipe', 'pipe', log ?? 'pipe'],
    env: { ...withoutOwnVariables(process.env), ...env },
  });
  if (log !== undefined) closeSync(log);
  return child;
}

/** The pid of the embedded engine of a home. */
export function enginePid(home: string): number {
  const { pid } = JSON.parse(readFileSync(join(home, 'engine.json'), 'utf8')) as { pid?: number };
  if (pid === undefined) throw new Error(`No engine runs in ${home}.`);
  return pid;
}

/** The tester's own settings must not reach the server. */
function withoutOwnVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) =>
        !/^(?:TURNKEEPER_|TEMPORAL_|DEEPSEEK_)/.test(name) ||
        ['TURNKEEPER_CACHE', 'TURNKEEPER_TEMPORAL_CLI'].includes(name),
    ),
  );
}
