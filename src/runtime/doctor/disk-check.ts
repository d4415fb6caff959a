/** Checks how much room there is where the home lies, and where the session log lies. */
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { storeLocation } from '../configuration/store-location.js';
import { type Check, type Finding, ok, problem, warning, worstOf } from './check.js';
import { nearestExisting } from './home-check.js';

const SCARCE_BYTES = 1024 ** 3;
const TOO_LITTLE_BYTES = 100 * 1024 ** 2;

export const diskCheck: Check = {
  name: 'disk',
  run: async ({ configuration }) => {
    const home = await nearestExisting(configuration.home);
    const store = await nearestExisting(dirname(storeLocation(configuration).file));
    const isOneDisk = (await stat(home)).dev === (await stat(store)).dev;
    return worstOf(await Promise.all((isOneDisk ? [home] : [home, store]).map(roomOf)));
  },
};

async function roomOf(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  return judgeRoom(folder, bavail * bsize);
}

/** What so many free bytes at a folder mean. */
export function judgeRoom(folder: string, freeBytes: number): Finding {
  const room = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB are free at ${folder}`;
  if (freeBytes < TOO_LITTLE_BYTES) {
    return problem(`${room}, which is too little: what cannot be stored is refused. Free some.`);
  }
  return freeBytes < SCARCE_BYTES ? warning(`${room}, which does not last long: free some.`) : ok(`${room}.`);
}
