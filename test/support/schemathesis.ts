/**
 * Brings schemathesis to tests: a Python program that calls an API as its own description says, and against it. It is
 * kept in the cache, and fetched there once with the pip of the machine; nothing is installed.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../src/runtime/engine/cache-folder.js';

const run = promisify(execFile);
const FETCH_TIMEOUT_MS = 240_000;
const RUN_TIMEOUT_MS = 240_000;
const VERSION = '4.32.5';
/** The generator of the examples is pinned too: with another one the same seed means other examples. */
const REQUIREMENTS = [`schemathesis==${VERSION}`, 'hypothesis==6.170.17'];

export interface SchemathesisRun {
  readonly code: number;
  /** What it has found, with its summary at the end. */
  readonly output: string;
}

/**
 * Runs `schemathesis run` with the arguments in a folder of its own.
 *
 * @throws Error where it is not in the cache and cannot be fetched.
 */
export async function runSchemathesis(args: readonly string[], cwd: string): Promise<SchemathesisRun> {
  const modules = await fetchedModules();
  const child = run('python3', ['-m', 'schemathesis.cli', 'run', ...args, '--no-color'], {
    cwd,
    env: pythonEnvironment(modules),
    timeout: RUN_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  return child.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
      if (typeof code !== 'number') throw error;
      return { code, output: `${stdout ?? ''}${stderr ?? ''}` };
    },
  );
}

/** The folder with its modules. Any number of processes may fetch at once, each in a folder of its own; one is kept. */
async function fetchedModules(): Promise<string> {
  const cache = cacheFolder(process.env);
  const modules = join(cache, `schemathesis-${VERSION}`);
  if (await isUsable(modules)) return modules;
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, '.fetch-'));
  try {
    const target = join(folder, 'modules');
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', target, ...REQUIREMENTS], {
      timeout: FETCH_TIMEOUT_MS,
    });
    await rename(target, modules);
  } catch (error) {
    // Another process was faster.
    if (!(await isUsable(modules))) {
      throw new Error(
        `There is no schemathesis in ${modules}, and it could not be fetched. It takes Python 3.10 or later with pip ` +
          `on the PATH and a way to its packages; \`python3 -m pip install --target ${modules} ${REQUIREMENTS.join(' ')}\` ` +
          'does the same by hand.',
        { cause: error },
      );
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return modules;
}

async function isUsable(modules: string): Promise<boolean> {
  return run('python3', ['-m', 'schemathesis.cli', '--version'], { env: pythonEnvironment(modules) }).then(
    ({ stdout }) => stdout.includes(VERSION),
    () => false, // Not there yet.
  );
}

function pythonEnvironment(modules: string): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONPATH: modules, PYTHONDONTWRITEBYTECODE: '1' };
}
