/** Reads how a workflow stands with a Temporal server. */
import { WorkflowNotFoundError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import type { PendingActivity, WorkflowCondition } from '../contract/turn-engine.js';

type Raw = WorkflowExecutionDescription['raw'];
type RawActivity = NonNullable<Raw['pendingActivities']>[number];
type Timestamp = RawActivity['scheduledTime'];

/** The newest run of the workflow, and what it waits for. */
export async function describeWorkflow(client: Client, workflowId: string): Promise<WorkflowCondition> {
  let description: WorkflowExecutionDescription;
  try {
    description = await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { kind: 'missing' };
    throw error;
  }
  const closed = CLOSED[description.status.name];
  if (closed !== undefined) return { kind: 'closed', status: closed };
  const { pendingWorkflowTask, pendingActivities } = description.raw;
  return {
    kind: 'running',
    failedTasks: Math.max(0, (pendingWorkflowTask?.attempt ?? 1) - 1),
    activities: (pendingActivities ?? []).map(activityOf),
  };
}

const CLOSED: Partial<
  Record<
    WorkflowExecutionDescription['status']['name'],
    Extract<WorkflowCondition, { kind: 'closed' }>['status']
  >
> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'canceled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed-out',
};

/** `temporal.api.enums.v1.PendingActivityState`. */
const STARTED = 2;
const CANCEL_REQUESTED = 3;

function activityOf(raw: RawActivity): PendingActivity {
  const failure = raw.lastFailure?.applicationFailureInfo?.type;
  const code = Number(raw.state);
  const state = code === STARTED ? 'started' : code === CANCEL_REQUESTED ? 'cancel-requested' : 'scheduled';
  const next = state === 'scheduled' ? timeOf(raw.nextAttemptScheduleTime ?? raw.scheduledTime) : undefined;
  return {
    activityId: raw.activityId ?? '',
    type: raw.activityType?.name ?? '',
    state,
    attempt: raw.attempt ?? 1,
    ...(failure == null || failure === '' ? {} : { lastFailure: failure }),
    ...(next === undefined ? {} : { nextAttemptAt: next }),
    ...(raw.lastWorkerIdentity == null || raw.lastWorkerIdentity === ''
      ? {}
      : { workerIdentity: raw.lastWorkerIdentity }),
  };
}

function timeOf(time: Timestamp): string | undefined {
  const seconds = Number(time?.seconds ?? 0);
  return seconds === 0 ? undefined : new Date(seconds * 1000 + (time?.nanos ?? 0) / 1e6).toISOString();
}
