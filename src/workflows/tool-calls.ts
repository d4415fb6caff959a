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
  // The clock of the turn stands still from the ask on, whichever call's place it is.
  const answered = calls.map(({ asked }) => {
    const wait = answers.wait(asked);
    // A cancel is thrown where the wait is awaited.
    wait.catch(() => undefined);
    return wait;
  });
  const runOnceAnswered = async (index: number, planned: PlannedCall): Promise<void> => {
    await answered[index];
    for (;;) {
      await placeInPool();
      // Whoever gave the nudge, the log says whether there is an answer.
      if ((await run(index, planned)) === 'settled') return;
      await answers.wait(planned.asked);
    }
  };

  const unsettled = new Set<Promise<unknown>>();
  for (const [index, planned] of calls.entries()) {
    if (planned.mode === 'exclusive') await Promise.all(unsettled);
    const waits = planned.asked !== undefined;
    if (!waits) await placeInPool();
    const call = waits ? runOnceAnswered(index, planned) : run(index, planned);
    unsettled.add(call);
    call.then(
      () => void unsettled.delete(call),
      // It stays in the set, so that its failure is thrown where all are awaited.
      () => undefined,
    );
    if (planned.mode === 'exclusive') await call;
  }
  await Promise.all(unsettled);
}
