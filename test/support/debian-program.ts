/**
 * Brings programs of Debian packages to tests: the one of the PATH, else one in the cache, unpacked there with the
 * libraries that the machine lacks. Nothing is installed, and no rights are needed.
 */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../src/runtime/engine/cache-folder.js';

const run = promisify(execFile);
const FETCH_TIMEOUT_MS = 240_000;

export interface DebianProgram {
  /** Names of programs that serve as well, in the order in which the PATH is searched for them. */
  readonly names: readonly string[];
  readonly package: string;
  /** Where the program is in its package. */
  readonly file: string;
}

export interface RunnableProgram {
  readonly path: string;
  /** The environment in which it finds its libraries. */
  readonly env: NodeJS.ProcessEnv;
}

/** The program, ready to be run. @throws Error where there is none and none can be fetched. */
export async function debianProgram(program: DebianProgram): Promise<RunnableProgram> {
  const installed = await onPath(program.names);
  if (installed !== undefined) return { path: installed, env: process.env };
  const contents = join(cacheFolder(process.env), `debian-${program.package}`);
  const path = join(contents, program.file);
  if (!(await isExecutable(path))) {
    await fetchInto(contents, program).catch((error: unknown) => {
      throw new Error(`There is no ${program.names.join(' or ')} on the PATH, and none could be fetched.`, {
        cause: error,
      });
    });
  }
  const libraries = await foldersWithLibraries(contents);
  const before = process.env.LD_LIBRARY_PATH ?? '';
  return {
    path,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: [...libraries, ...(before === '' ? [] : [before])].join(delimiter),
    },
  };
}

async function onPath(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      if (folder !== '' && (await isExecutable(join(folder, name)))) return join(folder, name);
    }
  }
  return undefined;
}

/** Any number of processes may fetch at once: each works in a folder of its own, and one of them is kept. */
async function fetchInto(target: string, { package: name, file }: DebianProgram): Promise<void> {
  const cache = join(target, '..');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, '.fetch-'));
  try {
    const contents = join(folder, 'contents');
    await mkdir(contents);
    await download(name, folder);
    for (const archive of (await readdir(folder)).filter((entry) => entry.endsWith('.deb'))) {
      await command('dpkg-deb', ['-x', archive, contents], folder);
    }
    await rename(contents, target);
  } catch (error) {
    // Another process was faster.
    if (!(await isExecutable(join(target, file)))) throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Downloads the package and what it needs beyond what is installed. */
async function download(name: string, folder: string): Promise<void> {
  try {
    await downloadWith([], name, folder);
  } catch {
    // The machine's lists of packages are missing or old: lists of its own, which take no rights to fetch.
    const state = join(folder, 'apt');
    await mkdir(join(state, 'lists', 'partial'), { recursive: true });
    const options = [
      `Dir::State=${state}`,
      `Dir::State::lists=${join(state, 'lists')}`,
      'Dir::State::status=/var/lib/dpkg/status',
      `Dir::Cache=${state}`,
      'Debug::NoLocking=1',
    ].flatMap((option) => ['-o', option]);
    await command('apt-get', [...options, '-qq', 'update'], folder);
    await downloadWith(options, name, folder);
  }
}

async function downloadWith(options: readonly string[], name: string, folder: string): Promise<void> {
  const plan = ['install', '--print-uris', '--no-install-recommends', '-qq', name];
  const uris = await command('apt-get', [...options, ...plan], folder);
  // Lines of 'uri' file size hash; a file's name begins with its package's.
  const needed = uris.split('\n').flatMap((line) => /' ([^_ ]+)_/.exec(line)?.[1] ?? []);
  await command('apt-get', [...options, '-qq', 'download', ...new Set([name, ...needed])], folder);
}

async function command(program: string, args: readonly string[], cwd: string): Promise<string> {
  return (await run(program, args, { cwd, timeout: FETCH_TIMEOUT_MS })).stdout;
}

async function foldersWithLibraries(contents: string): Promise<string[]> {
  const entries = await readdir(contents, { recursive: true, withFileTypes: true });
  const folders = entries.filter(({ name }) => /\.so(\.|$)/.test(name)).map(({ parentPath }) => parentPath);
  return [...new Set(folders)];
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false, // Not there yet, or no program.
  );
}
