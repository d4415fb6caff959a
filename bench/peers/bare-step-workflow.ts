/** The peer's workflow: steps of one ordinary activity and some local ones that do nothing. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';

export interface BareActivities {
  readonly call: () => Promise<void>;
  readonly nothing: () => Promise<void>;
}

/** @param locals how many local activities stand in each step. */
export async function bareSteps(steps: number, locals: number): Promise<void> {
  const local = proxyLocalActivities<BareActivities>({ startToCloseTimeout: '10 s' });
  const { call } = proxyActivities<BareActivities>({ startToCloseTimeout: '10 s', heartbeatTimeout: '3 s' });
  for (let step = 0; step < steps; step += 1) {
    await call();
    for (let done = 0; done < locals; done += 1) await local.nothing();
  }
}
