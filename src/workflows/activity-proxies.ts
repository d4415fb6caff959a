/**
 * Every timeout and retry policy of the workflows, on one page.
 *
 * Activities own what is retried: they throw failures that are retryable, with their delay, or not. So no policy here
 * counts attempts; a worker's death is told by the heartbeat and costs a tenth of a second more.
 */
import { ActivityCancellationType, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import { toolTaskQueue, type TurnActivities, type TurnPolicy } from '../contract/agent-turn.js';
import type { FollowUpActivities } from '../contract/follow-up.js';

/** Longer than any turn: what bounds an attempt is its heartbeat and the turn's own time limit. */
const UNBOUNDED = '30 days';

/** What lies between two steps, without the hooks in it. */
const BETWEEN_STEPS_MS = 10_000;

/** A lost attempt is repeated at once. */
const LOST_ATTEMPT_RETRY = { initialInterval: 100, backoffCoefficient: 1 } as const;

export interface ActivityProxies {
  readonly advance: TurnActivities['advance'];
  readonly readTimeLeft: TurnActivities['readTimeLeft'];
  readonly callModel: TurnActivities['callModel'];
  /** On the task slots of the host that has the workspace. */
  runToolOn(hostId: string): TurnActivities['runTool'];
}

export function createActivityProxies(policy: TurnPolicy): ActivityProxies {
  const { advance, readTimeLeft } = proxyLocalActivities<Pick<TurnActivities, 'advance' | 'readTimeLeft'>>({
    startToCloseTimeout: BETWEEN_STEPS_MS + (policy.betweenStepsMs ?? 0),
    // The store is away: waiting is all there is to do, and it costs nothing.
    retry: { initialInterval: 100, backoffCoefficient: 2, maximumInterval: '5 s' },
  });
  const attempt = {
    startToCloseTimeout: UNBOUNDED,
    heartbeatTimeout: policy.heartbeatMs,
    retry: LOST_ATTEMPT_RETRY,
    // The workflow goes on to settle the turn; `advance` gives the attempts that run a moment to end by themselves.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  } as const;
  const { callModel } = proxyActivities<Pick<TurnActivities, 'callModel'>>(attempt);
  const onHosts = new Map<string, TurnActivities['runTool']>();
  return {
    advance,
    readTimeLeft,
    callModel,
    runToolOn: (hostId) => {
      const known = onHosts.get(hostId);
      if (known !== undefined) return known;
      const { runTool } = proxyActivities<Pick<TurnActivities, 'runTool'>>({
        ...attempt,
        taskQueue: toolTaskQueue(hostId),
      });
      onHosts.set(hostId, runTool);
      return runTool;
    },
  };
}

/**
 * The activities of follow-ups. They say themselves when they are given up; a delay that the other side asks for wins
 * over the back-off. A worker's death is told by the time that a try has, since nobody waits for them.
 */
export function createFollowUpProxies(): FollowUpActivities {
  const retry = { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '1 h' } as const;
  const { deliverWebhook } = proxyActivities<Pick<FollowUpActivities, 'deliverWebhook'>>({
    startToCloseTimeout: '30 s',
    retry,
  });
  const { writeTitle } = proxyActivities<Pick<FollowUpActivities, 'writeTitle'>>({
    startToCloseTimeout: '2 min',
    retry,
  });
  return { deliverWebhook, writeTitle };
}
