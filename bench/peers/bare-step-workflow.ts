/** The peer's workflow: steps of one local and one ordinary activity that do nothing. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';

export interface BareActivities {
  readonly advance: () => Promise<void>;
  readonly call: () => Promise<void>;
  readonly tool: () => Promise<void>;
}

/** @param withTool a second local activity in each step, as a quick tool is. */
export async function bareSteps(steps: number, withTool: boolean): Promise<void> {
  const local = proxyLocalActivities<BareActivities>({ startToCloseTimeout: '10 s' });
  const { call } = proxyActivities<BareActivities>({ startToCloseTimeout: '10 s', heartbeatTimeout: '3 s' });
  for (let step = 0; step < steps; step += 1) {
    await local.advance();
    await call();
    if (withTool) await local.tool();
  }
}
