/** Checks the home: whether it can be written, and whether it is closed to other users. */
import { access, constants, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Check, ok, problem, warning } from './check.js';

const OPEN_TO_OTHERS = 0o077;

export const homeCheck: Check = {
  name: 'home',
  run: async ({ configuration: { home } }) => {
    const existing = await nearestExisting(home);
    const isThere = existing === home;
    try {
      if (isThere) await tryWrite(home);
      else await access(existing, constants.W_OK | constants.X_OK);
    } catch (error) {
      const what = isThere ? `${home} cannot be written` : `${home} is not there and cannot be made`;
      return problem(
        `${what}: ${error instanceof Error ? error.message : String(error)}. Make it a folder that you can write, or set another one (TURNKEEPER_HOME or --home).`,
      );
    }
    if (!isThere) return ok(`${home} will be made.`);
    const { mode } = await stat(home);
    return (mode & OPEN_TO_OTHERS) === 0
      ? ok(`${home} can be written, and is closed to other users.`)
      : warning(
          `${home} is open to other users of this machine (mode ${(mode & 0o777).toString(8)}), and what sessions say ` +
            'stands in it. The next start of the server closes it; until then "chmod 700" does.',
        );
  },
};

/** The folder itself, or the next one above it that is there. */
export async function nearestExisting(folder: string): Promise<string> {
  for (let current = folder; ; current = dirname(current)) {
    const isThere = await access(current).then(
      () => true,
      () => false, // Not there, or not to be seen.
    );
    if (isThere || current === dirname(current)) return current;
  }
}

/** A mode says less than a try: the file system may be full or read-only. */
async function tryWrite(folder: string): Promise<void> {
  const file = join(folder, `.doctor-${String(process.pid)}`);
  try {
    await writeFile(file, 'written by turnkeeper doctor\n', { mode: 0o600 });
  } finally {
    await rm(file, { force: true });
  }
}
