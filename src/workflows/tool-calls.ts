/**
 * The calls of one step: a rolling pool of parallel calls, exclusive calls as barriers between them.
 *
 * Owns when a call starts. Its result is staged by the activity; the commit in the model's order is part of `advance`.
 */
import type { PlannedCall, StepRef } from '../contract/agent-turn.js';
import type { ActivityProxies } from './activity-proxies.js';

export interface PlannedCalls {
  readonly calls: readonly PlannedCall[];
  readonly hostId: string;
  readonly maxParallel: number;
}

/** Runs every call of the step to its staged result. */
export async function runToolCalls(
  activities: ActivityProxies,
  step: StepRef,
  { calls, hostId, maxParallel }: PlannedCalls,
): Promise<void> {
  const runTool = activities.runToolOn(hostId);
  const running = new Set<Promise<void>>();
  for (const [index, planned] of calls.entries()) {
    if (planned.mode === 'exclusive') await Promise.all(running);
    while (running.size >= maxParallel) await Promise.race(running);
    const call = runTool({ ...step, index, mode: planned.mode });
    running.add(call);
    // The failure is thrown where the call is awaited; here it only leaves the pool.
    const leave = () => void running.delete(call);
    call.then(leave, leave);
    if (planned.mode === 'exclusive') await call;
  }
  await Promise.all(running);
}
