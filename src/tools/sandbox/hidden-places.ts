/**
 * What of this host a confined command must not see: the protected paths, and the sockets by which it would reach a program
 * outside of its sandbox, such as a container engine or an ssh agent.
 */
import { lstat, readFile, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { showPath } from '../file-errors.js';
import { ToolError } from '../tool.js';
import { isWithin } from '../workspace-paths.js';
import type { Mount } from './mounts.js';

/** Bubblewrap mounts its own there. */
const MOUNTED_ANEW = ['/proc', '/dev'];
/** Sockets of the system and its services, and the settings of the kernel. */
const HIDDEN_FOLDERS = ['/run', '/var/run', '/sys'];
/** Where commands keep what is temporary. */
export const SCRATCH_FOLDER = '/tmp';

/**
 * The mounts that hide what is there now.
 * @throws ToolError SANDBOX_UNAVAILABLE where a protected path is not to be found, and so cannot be hidden
 */
export async function hiddenPlaces(protectedPaths: readonly string[]): Promise<readonly Mount[]> {
  // The server's own temporary folder may be another one than that of commands.
  const folders = await Promise.all([...HIDDEN_FOLDERS, tmpdir()].map(realFolder));
  return [
    { kind: 'scratch', path: SCRATCH_FOLDER },
    ...folders
      .filter((path) => path !== undefined)
      .filter((path) => path !== SCRATCH_FOLDER)
      .map((path): Mount => ({ kind: 'hidden-folder', path })),
    ...(await Promise.all(protectedPaths.filter((path) => !isMountedAnew(path)).map(protectedMount))),
    ...(await reachableSockets()).map((path): Mount => ({ kind: 'hidden-file', path })),
  ];
}

function isMountedAnew(path: string): boolean {
  return MOUNTED_ANEW.some((top) => isWithin(top, path));
}

async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    // Not on this system: nothing to hide.
    return undefined;
  }
}

async function protectedMount(path: string): Promise<Mount> {
  // One that was moved away would lie open at its new place.
  const real = await realpath(path).catch(() => undefined);
  if (real !== path) {
    throw new ToolError(
      'SANDBOX_UNAVAILABLE',
      `The command was not run: ${showPath(path)} has to be hidden from it, and is not there any more.`,
    );
  }
  return { kind: (await stat(path)).isDirectory() ? 'hidden-folder' : 'hidden-file', path };
}

/** Sockets with a path that this host's processes have bound and a command could connect to. */
async function reachableSockets(): Promise<readonly string[]> {
  const table = await readFile('/proc/net/unix', 'utf8');
  // Seven columns, and the path where there is one; '@' begins a name that is no path.
  const bound = table.split('\n').flatMap((line) => /^(?:\S+\s+){7}(\/.*)$/.exec(line)?.[1] ?? []);
  const real = await Promise.all([...new Set(bound)].map(realSocket));
  return real.filter((path) => path !== undefined).filter((path) => !isMountedAnew(path));
}

async function realSocket(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await lstat(real)).isSocket() && (await isReachable(dirname(real))) ? real : undefined;
  } catch {
    // Removed meanwhile, bound in another file system, or out of this user's reach and so of the command's.
    return undefined;
  }
}

/**
 * Whether the user may enter the folder without being root over other users' files, which no command is in the sandbox.
 * Bubblewrap could not mount anything there either.
 */
async function isReachable(folder: string): Promise<boolean> {
  if (process.getuid?.() !== 0) return true;
  const { mode, uid, gid } = await stat(folder);
  const bit = uid === 0 ? 0o100 : (process.getgroups?.() ?? []).includes(gid) ? 0o010 : 0o001;
  return (mode & bit) !== 0 && (folder === '/' || (await isReachable(dirname(folder))));
}
