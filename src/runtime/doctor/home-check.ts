/** Checks the home: whether it can be written, and how much room there is. */
import { access, constants, rm, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Check, ok, problem, warning } from './check.js';

const SCARCE_BYTES = 1024 ** 3;
const TOO_LITTLE_BYTES = 100 * 1024 ** 2;

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
    const { bavail, bsize } = await statfs(existing);
    const room = `${home} ${isThere ? 'can be written' : 'will be made'}, and ${inGibibytes(bavail * bsize)} are free`;
    if (bavail * bsize < TOO_LITTLE_BYTES)
      return problem(`${room}, which is too little to go on: free some.`);
    if (bavail * bsize < SCARCE_BYTES) return warning(`${room}, which does not last long: free some.`);
    return ok(`${room}.`);
  },
};

async function nearestExisting(folder: string): Promise<string> {
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

function inGibibytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
