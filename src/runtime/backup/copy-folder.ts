/**
 * Copies a folder in which others work meanwhile: what goes while it is being read is left out, what changes is copied as
 * it is found.
 */
import { constants, type Stats } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readlink, stat, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** Both are asked of paths relative to the folder that is copied. */
export interface CopyChoice {
  /** A folder that is not copied is not looked into. */
  readonly isCopied: (path: string) => boolean;
  /** Whether what a symbolic link leads to is copied in its place. */
  readonly isFollowed: (path: string) => boolean;
}

/**
 * Copies all that is in a folder into another one, which is there: files, folders and symbolic links, with modes and
 * times. Sockets and pipes hold nothing, and are left out.
 */
export async function copyFolder(
  from: string,
  to: string,
  { isCopied, isFollowed }: CopyChoice,
): Promise<void> {
  const copyEntries = async (below: string): Promise<void> => {
    for (const name of await readdir(join(from, below))) {
      const path = join(below, name);
      if (isCopied(path)) await unlessGone(() => copyEntry(path));
    }
  };
  const copyEntry = async (path: string): Promise<void> => {
    const [source, target] = [join(from, path), join(to, path)];
    const stats = await (isFollowed(path) ? stat(source) : lstat(source));
    if (stats.isSymbolicLink()) {
      await symlink(await readlink(source), target);
    } else if (stats.isFile()) {
      // Blocks are shared where the file system can.
      await copyFile(source, target, constants.COPYFILE_FICLONE);
      await keepTimes(target, stats);
    } else if (stats.isDirectory()) {
      await mkdir(target, { recursive: true, mode: 0o700 });
      await unlessGone(() => copyEntries(path));
      // Only now: the folder may be one in which nothing can be made.
      await chmod(target, stats.mode & 0o7777);
      await keepTimes(target, stats);
    }
  };
  await copyEntries('');
}

async function keepTimes(path: string, { atime, mtime }: Stats): Promise<void> {
  await utimes(path, atime, mtime);
}

async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    // It was there a moment ago. What cannot be read for another reason would be missing in silence.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
