/**
 * The calls of one step: a rolling pool of parallel calls, exclusive calls as barriers between them, and calls that wait
 * for a person, which have not settled but take no place in the pool.
 *
 * Owns when a call starts. Its result is staged by the activity; the commit in the model's order is part of `advance`.
 */
import { condition } from '@temporalio/workflow';
import type { PlannedCall, StepRef } from '../contract/agent-turn.js';
import type { ActivityProxies } from './activity-proxies.js';
import type { PersonsAnswers } from './persons-answers.js';

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
  answers: PersonsAnswers,
): Promise<void> {
  const runTool = activities.runToolOn(hostId);
  let running = 0;
  const placeInPool = async (): Promise<void> => {
    // Looked at again: another call may have taken the place that this one was woken for.
    while (running >= maxParallel) await condition(() => running < maxParallel);
    running += 1;
  };
  const run = async (index: number, { mode }: PlannedCall) => {
    try {
      return await runTool({ ...step, index, mode });
    } finally {
      running -= 1;
    }
  };
  const runOnceAnswered = async (index: number, planned: PlannedCall): Promise<void> => {
    for (;;) {
      await answers.wait(planned.asked);
      await placeInPool();
      // Whoever gave the nudge, the log says whether there is an answer.
      if ((await run(index, planned)) === 'settled') return;
    }
  };

  const unsettled = new Set<Promise<unknown>>();
  for (const [index, planned] of calls.entries()) {
    if (planned.mode === 'exclusive') await Promise.all(unsettled);
    const waits = planned.asked !== undefined;
    if (!waits) await placeInPool();
    const call = waits ? runOnceAnswered(index, planned) : run(index, planned);
    unsettled.add(call);
    // The failure is thrown where the call is awaited; here it only leaves the set.
    const leave = () => void unsettled.delete(call);
    call.then(leave, leave);
    if (planned.mode === 'exclusive') await call;
  }
  await Promise.all(unsettled);
}
