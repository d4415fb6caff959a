/** Memory of running processes, from /proc. Linux only; elsewhere all is 0. */
import { readFileSync } from 'node:fs';

/** What the process holds in memory now, in bytes. */
export function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    // Not Linux, or gone: there is nothing to say.
    return 0;
  }
}
