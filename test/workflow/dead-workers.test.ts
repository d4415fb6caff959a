import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { FOLLOW_UP_WORKFLOW, followUpWorkflowId, type FollowUpRef } from '../../src/contract/follow-up.js';
import { turnWorkflowId, type SessionId, type SessionUid } from '../../src/contract/ids.js';
import { answerForDeadWorkers } from '../../src/runtime/dead-workers.js';
import { workerIdentity } from '../../src/runtime/worker-identity.js';
import type { OpenTurnRecord } from '../../src/store/session-store.js';

const NAMESPACE = 'default';
const HOST = 'this-host';
const OWN = workerIdentity(HOST, { pid: 2, startTime: 'boot/200' });
const DEAD = workerIdentity(HOST, { pid: 1, startTime: 'boot/100' });
/** The same pid, given again after a restart of the machine. */
const DEAD_OF_OTHER_BOOT = workerIdentity(HOST, { pid: 2, startTime: 'earlier/200' });
const OTHER_HOST = workerIdentity('this-host-2', { pid: 1, startTime: 'boot/100' });
/** `CommandType` and `PendingActivityState` of the engine. */
const SCHEDULE_ACTIVITY = 1;
const STARTED = 2;

let connection: Connection;
let client: Client;
beforeAll(async () => {
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = new Client({ connection });
});
afterAll(() => connection.close());

const queueOf = (workflowId: string, index: number) => ({ name: `${workflowId}/${String(index)}` });

/** A workflow with an activity for each of these workers, which has taken it and says nothing. */
async function takenBy(workflowId: string, workers: readonly string[]): Promise<void> {
  const { workflowService } = client;
  const taskQueue = { name: workflowId };
  await client.workflow.start(FOLLOW_UP_WORKFLOW, { workflowId, taskQueue: workflowId });
  const { taskToken } = await polled(() =>
    workflowService.pollWorkflowTaskQueue({ namespace: NAMESPACE, taskQueue }),
  );
  await workflowService.respondWorkflowTaskCompleted({
    namespace: NAMESPACE,
    taskToken,
    commands: workers.map((_, index) => ({
      commandType: SCHEDULE_ACTIVITY,
      scheduleActivityTaskCommandAttributes: {
        activityId: String(index),
        activityType: { name: 'silent' },
        taskQueue: queueOf(workflowId, index),
        startToCloseTimeout: msToTs('1 hour'),
        retryPolicy: { initialInterval: msToTs('1 hour') },
      },
    })),
  });
  for (const [index, identity] of workers.entries()) {
    await take(queueOf(workflowId, index), identity);
  }
}

/** Takes an activity as a worker does; resolves with the attempt that it is. */
async function take(taskQueue: { readonly name: string }, identity: string): Promise<number> {
  const request = { namespace: NAMESPACE, taskQueue, identity };
  return (await polled(() => client.workflowService.pollActivityTaskQueue(request))).attempt;
}

/** The engine refuses a poll without a deadline. */
function polled<T>(poll: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + 30_000, poll);
}

async function pending(workflowId: string) {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  return (raw.pendingActivities ?? []).map(({ activityId, state, attempt }) => ({
    activityId,
    state,
    attempt,
  }));
}

const openTurn = (uid: SessionUid, status: OpenTurnRecord['status'] = 'running'): OpenTurnRecord => ({
  uid,
  sessionId: uid as string as SessionId,
  turn: 1,
  status,
  updatedAt: new Date().toISOString(),
  cancelRequested: false,
});

describe('what a dead worker of this host had taken', () => {
  it('is given to the next one at once, and what others have is left to them', async () => {
    const deployment = uuidv7();
    const [running, waiting, unknown, followed] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()] as SessionUid[];
    const followUp: FollowUpRef = { uid: followed!, turn: 1, kind: 'webhook' };
    const workflows = {
      running: turnWorkflowId(deployment, running!, 1),
      waiting: turnWorkflowId(deployment, waiting!, 1),
      followUp: followUpWorkflowId(deployment, followUp),
    };
    await takenBy(workflows.running, [DEAD, OTHER_HOST, OWN, 'somebody', DEAD_OF_OTHER_BOOT]);
    await takenBy(workflows.waiting, [DEAD]);
    await takenBy(workflows.followUp, [DEAD]);

    await answerForDeadWorkers({
      store: {
        // The second one was not told to the engine yet.
        openTurns: () =>
          Promise.resolve([openTurn(running!), openTurn(unknown!), openTurn(waiting!, 'waiting-approval')]),
        followUps: { due: () => Promise.resolve([followUp]) } as never,
      },
      client,
      namespace: NAMESPACE,
      deployment,
      hostId: HOST,
      identity: OWN,
      clock: Date.now,
      logger: pino({ enabled: false }),
      limitMs: 30_000,
    });

    expect(await take(queueOf(workflows.running, 0), OWN)).toBe(2);
    expect(await take(queueOf(workflows.running, 4), OWN)).toBe(2);
    expect(await take(queueOf(workflows.waiting, 0), OWN)).toBe(2);
    expect(await take(queueOf(workflows.followUp, 0), OWN)).toBe(2);
    const others = (await pending(workflows.running)).filter(({ activityId }) =>
      /[123]/.test(activityId ?? ''),
    );
    expect(others.map(({ state, attempt }) => [Number(state), attempt])).toEqual(
      others.map(() => [STARTED, 1]),
    );
    expect(others).toHaveLength(3);
  });
});
