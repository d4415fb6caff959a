/**
 * Looks for programs: whether a path is one, and where the PATH has one.
 */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Whether the path leads to a file that this process may execute. */
export async function isExecutableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Missing or not allowed: the answer is no.
    return false;
  }
}

/** The first program of that name in the folders of the PATH. Relative folders are passed over: they are not the operator's. */
export async function findOnPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    if (!folder.startsWith('/')) continue;
    const candidate = join(folder, name);
    if (await isExecutableFile(candidate)) return candidate;
  }
  return undefined;
}
