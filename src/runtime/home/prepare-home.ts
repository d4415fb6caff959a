/**
 * Makes the home ready: a private folder, and the host id that is kept in it.
 */
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CONFIGURATION_FILE_NAME } from '../configuration/configuration-file.js';
import { HomeError } from './home-error.js';

const HOST_ID_FILE = 'host-id';
const OPEN_TO_OTHERS = 0o077;
/** What may lie in a home before it is used for the first time. */
const EXPECTED_BEFORE_USE: readonly string[] = [CONFIGURATION_FILE_NAME, 'lost+found'];

export interface Home {
  /** Absolute. */
  readonly folder: string;
  /** A UUID that names this home for ever; it was random once. */
  readonly hostId: string;
}

/**
 * Makes the folder with mode 0700, or closes an existing home to other users, and reads or makes its host id.
 *
 * @param newId Makes the host id of a new home.
 * @throws HomeError `HOME_UNUSABLE`, `HOME_NOT_PRIVATE`.
 */
export function prepareHome(folder: string, newId: () => string = randomUUID): Home {
  try {
    const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (made === undefined) closeToOthers(folder);
    return { folder, hostId: hostId(folder, newId) };
  } catch (error) {
    if (error instanceof HomeError) throw error;
    throw new HomeError(
      'HOME_UNUSABLE',
      `The home ${folder} cannot be used: ${error instanceof Error ? error.message : String(error)}. ` +
        'Make it a folder that you can write, or set another one (TURNKEEPER_HOME or --home).',
    );
  }
}

/** A folder that is shared with other things (`/tmp`, a user's home) keeps its mode and is refused. */
function closeToOthers(folder: string): void {
  const { mode } = statSync(folder);
  if ((mode & OPEN_TO_OTHERS) === 0) return;
  const entries = readdirSync(folder);
  const isOurs =
    entries.includes(HOST_ID_FILE) || entries.every((entry) => EXPECTED_BEFORE_USE.includes(entry));
  if (!isOurs) {
    throw new HomeError(
      'HOME_NOT_PRIVATE',
      `The home ${folder} holds other files and is open to other users (mode ${(mode & 0o777).toString(8)}). ` +
        `Give Turnkeeper a folder of its own, such as ${join(folder, 'turnkeeper')} (TURNKEEPER_HOME or --home).`,
    );
  }
  chmodSync(folder, 0o700);
}

function hostId(folder: string, newId: () => string): string {
  const file = join(folder, HOST_ID_FILE);
  const temporary = `${file}.${String(process.pid)}.tmp`;
  try {
    // Linking fails where the file exists, and never shows a part of it: of two processes one decides the id.
    writeFileSync(temporary, `${newId()}\n`, { mode: 0o600 });
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  const id = z.uuid().safeParse(readFileSync(file, 'utf8').trim());
  if (!id.success) {
    throw new HomeError(
      'HOME_UNUSABLE',
      `${file} does not hold a UUID. Put back what stood there, or delete the file to give this home a new id.`,
    );
  }
  return id.data;
}

/** The id of a home that was used before; undefined where it has none that can be read. Changes nothing. */
export function readHostId(folder: string): string | undefined {
  try {
    return z.uuid().safeParse(readFileSync(join(folder, HOST_ID_FILE), 'utf8').trim()).data;
  } catch {
    // Not there, or not to be seen.
    return undefined;
  }
}
