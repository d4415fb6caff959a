/**
 * A disk that is full, for one process: the system lets it write no byte more to any file, and what it tries fails as the
 * rest of a full disk would. Needs `prlimit` of util-linux, and no rights.
 */
import { execFileSync } from 'node:child_process';

/** From now on the process and what it starts can write to no file; pipes and sockets go on. */
export function fillDisk(pid: number): void {
  limitFiles(pid, '1');
}

export function freeDisk(pid: number): void {
  limitFiles(pid, 'unlimited');
}

/** Of the soft limit alone: the hard one could not be raised again. */
function limitFiles(pid: number, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

export function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    // Not on this system.
    return false;
  }
}
