/** Finds bubblewrap, the program that makes the sandbox. Whether it works here is found out in `detect-sandbox.ts`. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const VERSION_TIMEOUT_MS = 10_000;

export interface Bubblewrap {
  /** Absolute. */
  readonly program: string;
  /** `0.8.0`. */
  readonly version: string;
}

/** `bwrap` of the first folder of the PATH that has one; undefined where none does. Relative folders are passed over. */
export async function findBubblewrap(path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const program = join(folder, 'bwrap');
    try {
      await access(program, constants.X_OK);
      return program;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** What the program says of its version. @throws Error where it does not run, or is something else */
export async function bubblewrapVersion(program: string): Promise<string> {
  const { stdout } = await run(program, ['--version'], { timeout: VERSION_TIMEOUT_MS, encoding: 'utf8' });
  const version = /^bubblewrap (\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`${program} is no bubblewrap`);
  return version;
}

/** Whether it can keep a command from making user namespaces of its own, which opens much of the kernel to it. */
export function canDisableUserNamespaces({ version }: Bubblewrap): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 0 || minor >= 8;
}
