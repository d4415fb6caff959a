/**
 * Answers to the engine in the place of the workers of this host that are dead: what they had taken is tried again at
 * once, where the engine by itself waits for a heartbeat or for the end of a time limit.
 *
 * Owns who counts as dead. The caller holds the home's lock and its own workers do not poll yet, so whatever a worker of
 * this host has taken, a dead one has. It is a short cut and no more: where it fails or has no time, the engine finds out
 * by itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Logger } from 'pino';
import { ACTIVITY_FAILURE } from '../contract/agent-turn.js';
import { followUpWorkflowId } from '../contract/follow-up.js';
import { turnWorkflowId, type Clock } from '../contract/ids.js';
import type { OpenTurnRecord, SessionStore } from '../store/session-store.js';
import { describeWorkflow } from './describe-workflow.js';
import { isDeadWorker } from './worker-identity.js';

/** The workers poll after this long, whatever is left: what they take themselves must not be answered for. */
const LIMIT_MS = 1000;
const CONCURRENCY = 20;
/** About as many as a process can have activities: where more turns are open, a worker is not in all of them. */
const MAX_WORKFLOWS = 300;
/** Of turns that wait, in which a worker is only for a call beside the one that waits. */
const MAX_WAITING = 50;

export interface DeadWorkersDeps {
  readonly store: Pick<SessionStore, 'openTurns' | 'followUps'>;
  readonly client: Client;
  readonly namespace: string;
  readonly deployment: string;
  readonly hostId: string;
  /** The identity of this process's workers. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default {@link LIMIT_MS}. */
  readonly limitMs?: number;
}

/** Answers for them in the open turns of this log and in what follows turns. Ends within its limit, and never rejects. */
export async function answerForDeadWorkers(deps: DeadWorkersDeps): Promise<void> {
  const { client, clock, logger, limitMs = LIMIT_MS } = deps;
  const deadline = clock() + limitMs;
  const answered = client
    .withDeadline(deadline, () => answerUntil(deps, deadline))
    .catch((error: unknown) => {
      logger.warn({ err: error }, 'the open turns could not be read to answer for dead workers');
    });
  await Promise.race([answered, sleep(limitMs, undefined, { ref: false })]);
}

async function answerUntil(deps: DeadWorkersDeps, deadline: number): Promise<void> {
  const workflows = (await workflowsToAsk(deps)).values();
  let answered = 0;
  let untold = 0;
  const work = async (): Promise<void> => {
    for (const workflowId of workflows) {
      try {
        if (deps.clock() >= deadline) untold += 1;
        else answered += await answerIn(deps, workflowId);
      } catch {
        // The engine finds out by itself.
        untold += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  if (answered + untold > 0) {
    deps.logger.info({ answered, untold }, 'the engine was told of dead workers, as far as there was time');
  }
}

/** First those in which a worker may well be, the latest before the others. */
async function workflowsToAsk({ store, deployment, clock }: DeadWorkersDeps): Promise<string[]> {
  const before = new Date(clock()).toISOString();
  const latest = (await store.openTurns(before)).toReversed();
  const followUps = await store.followUps.due({ before, limit: MAX_WORKFLOWS });
  const idOf = ({ uid, turn }: OpenTurnRecord) => turnWorkflowId(deployment, uid, turn);
  return [
    ...latest.filter((turn) => !isWaiting(turn)).map(idOf),
    ...followUps.map((ref) => followUpWorkflowId(deployment, ref)),
    ...latest.filter(isWaiting).slice(0, MAX_WAITING).map(idOf),
  ].slice(0, MAX_WORKFLOWS);
}

/** For a person, or for the time of a retry. */
function isWaiting({ status }: OpenTurnRecord): boolean {
  return status === 'waiting-approval' || status === 'retrying';
}

/** @returns how many activities were answered. */
async function answerIn(
  { client, namespace, hostId, identity }: DeadWorkersDeps,
  workflowId: string,
): Promise<number> {
  const condition = await describeWorkflow(client, workflowId);
  if (condition.kind !== 'running') return 0;
  const taken = condition.activities.filter(
    ({ state, workerIdentity = '' }) => state === 'started' && isDeadWorker(workerIdentity, hostId, identity),
  );
  for (const { activityId } of taken) await client.activity.fail({ workflowId, activityId }, workerDied());
  // The engine offers the next task to the worker that had the last one, and waits a second for it.
  await client.workflowService.resetStickyTaskQueue({ namespace, execution: { workflowId } });
  return taken.length;
}

/** Retryable, and at once. */
function workerDied(): ApplicationFailure {
  const type = ACTIVITY_FAILURE.workerDied;
  const failure = ApplicationFailure.create({ message: 'The worker is dead.', type, nextRetryDelay: 1 });
  // The engine keeps it, and it tells of this machine.
  failure.stack = '';
  return failure;
}
