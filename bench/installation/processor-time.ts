/**
 * Processor time of running processes, from /proc: what tells a slow program from a busy machine. Linux only; elsewhere
 * all is 0.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessorTime {
  /** Time on a processor, all threads together, in milliseconds. */
  readonly usedMs: number;
  /** Time in which the main thread could have run and no processor was free. */
  readonly mainWaitedMs: number;
}

/** What the process has used and waited for so far. */
export function processorTime(pid: number): ProcessorTime {
  let usedMs = 0;
  let mainWaitedMs = 0;
  for (const thread of threadsOf(pid)) {
    const [used, waited] = schedule(pid, thread);
    usedMs += used / 1e6;
    if (thread === String(pid)) mainWaitedMs = waited / 1e6;
  }
  return { usedMs, mainWaitedMs };
}

/** From one reading to the next, for each of so many steps. */
export function processorTimePerStep(
  before: ProcessorTime,
  after: ProcessorTime,
  steps: number,
): ProcessorTime {
  return {
    usedMs: (after.usedMs - before.usedMs) / steps,
    mainWaitedMs: (after.mainWaitedMs - before.mainWaitedMs) / steps,
  };
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${String(pid)}/task`);
  } catch {
    // Not Linux, or gone: there is nothing to say.
    return [];
  }
}

/** Nanoseconds on a processor, and nanoseconds of waiting for one (`/proc/<pid>/task/<tid>/schedstat`). */
function schedule(pid: number, thread: string): readonly [number, number] {
  try {
    const [used, waited] = readFileSync(`/proc/${String(pid)}/task/${thread}/schedstat`, 'utf8').split(' ');
    return [Number(used), Number(waited)];
  } catch {
    // The thread has ended since it was listed.
    return [0, 0];
  }
}
