/**
 * Where tests keep databases that only have to outlive processes: in memory, where each commit is not a wait for a disk.
 *
 * Owns the choice of the place. What the tests of the e2e tier run keeps its home on the disk, as it does for users.
 */
import { accessSync, constants, mkdtempSync, realpathSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** The `f_type` of Linux for a file system in memory. */
const TMPFS = 0x01021994;
/** Containers often have 64 MB, which is not enough for an engine. */
const ENOUGH_BYTES = 1024 ** 3;

/** A new folder, for the caller to remove. */
export function makeDatabaseFolder(prefix: string): string {
  return realpathSync(mkdtempSync(join(isMemoryUsable() ? MEMORY : tmpdir(), prefix)));
}

function isMemoryUsable(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { type, bavail, bsize } = statfsSync(MEMORY);
    return type === TMPFS && bavail * bsize >= ENOUGH_BYTES;
  } catch {
    // There is none: not Linux, or not for this user.
    return false;
  }
}
