/** Which processes of this machine are alive; zombies are not. */
import { readdirSync, readFileSync } from 'node:fs';
import { identifyProcess } from '../../src/runtime/home/process-identity.js';

export function isAlive(pid: number): boolean {
  return identifyProcess(pid) !== undefined;
}

/** Whether a process with this command line is alive. */
export function isCommandAlive(commandLine: string): boolean {
  return readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return words === commandLine && isAlive(Number(pid));
    } catch {
      return false; // It ended meanwhile.
    }
  });
}

let sleeps = 0;
/** The command line of a long sleep that no other test has. */
export function uniqueSleep(): string {
  return `sleep 4${String(process.pid)}.${String((sleeps += 1))}`;
}
