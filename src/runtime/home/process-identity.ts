/**
 * Tells a process from a later one that was given the same pid. Reads /proc where there is one, else asks `ps`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

export const processIdentitySchema = z.object({
  pid: z.number().int().positive(),
  /** Opaque; differs for every process that ever had the pid, also after a restart of the machine. */
  startTime: z.string().min(1),
});
export type ProcessIdentity = z.infer<typeof processIdentitySchema>;

/** The identity of a running process; undefined where it is gone, or is a zombie that nobody has reaped. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startTime = existsSync('/proc/self/stat') ? startTimeFromProc(pid) : startTimeFromPs(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

/** The identity of this process; where the system tells nothing of it, its pid alone is a good guess. */
export function currentProcess(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, startTime: 'unknown' };
}

/** Whether the very process runs still. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.startTime === identity.startTime;
}

function startTimeFromProc(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  } catch {
    // No such process.
    return undefined;
  }
  // The name stands in parentheses and may hold any character; what follows the last one is state, …, start time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ticks] = [fields[0], fields[19]];
  if (ticks === undefined || state === 'Z' || state === 'X') return undefined;
  return `${bootId()}/${ticks}`;
}

/** The start time counts from the boot, so it identifies a process only together with the boot. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Hidden in some sandboxes; pid and ticks alone are still a good guess.
    return 'boot';
  }
}

function startTimeFromPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const [state = '', ...started] = line.split(/\s+/);
    return line === '' || state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    // `ps` fails where there is no such process.
    return undefined;
  }
}
