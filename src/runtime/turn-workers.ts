/**
 * The workers of this process: one for turns and model calls, one for the tools of this host, so that slow tools never
 * hold up model calls, the log or a cancel.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { toolTaskQueue, TURN_TASK_QUEUE, type TurnActivities } from '../contract/agent-turn.js';
import type { FollowUpActivities } from '../contract/follow-up.js';
import { workflowBundlePath } from './workflow-bundle.js';

export interface TurnWorkersOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly hostId: string;
  /** The queue of turns and model calls; default `TURN_TASK_QUEUE`. */
  readonly taskQueue?: string;
  readonly activities: TurnActivities & FollowUpActivities;
  /** The file of the workflows' code; default: this build's. */
  readonly workflowBundle?: string;
  /** Default: the SDK's, of process and host name. */
  readonly identity?: string;
  /** What has to be over before the workers take anything; default nothing. Must not reject. */
  readonly before?: Promise<void>;
}

export interface TurnWorkers {
  /** Ends polling, tells running activities to hand over, and resolves when all have. Rejects where the engine is away. */
  stop(): Promise<void>;
  /** Rejects where a worker fails for good; resolves after `stop`. */
  readonly finished: Promise<void>;
}

/** Running activities have this long to hand over on a graceful stop. */
const SHUTDOWN_FORCE_MS = 4000;
/** By then all is handed over, or the engine does not answer: a worker waits for it much longer. */
const STOP_LIMIT_MS = SHUTDOWN_FORCE_MS + 250;

/**
 * A machine that stands still for 5 s in the middle of workflow code ends the whole process otherwise. The option is not
 * among the public ones, but taken; workflow code is our own and ends.
 */
const NO_ISOLATE_TIMEOUT: object = { isolateExecutionTimeout: '1 day' };

export async function startTurnWorkers(options: TurnWorkersOptions): Promise<TurnWorkers> {
  const { connection, namespace, hostId, activities } = options;
  const { runTool } = activities;
  const common = {
    connection,
    namespace,
    ...(options.identity === undefined ? {} : { identity: options.identity }),
    // Told of the shutdown at once: an activity hands over rather than runs on.
    shutdownGraceTime: 0,
    shutdownForceTime: SHUTDOWN_FORCE_MS,
    // Heartbeats reach the engine often enough that a short stall does not kill a healthy attempt.
    maxHeartbeatThrottleInterval: 500,
    defaultHeartbeatThrottleInterval: 500,
  } satisfies WorkerOptions | Record<string, unknown>;
  const turns = await Worker.create({
    ...common,
    taskQueue: options.taskQueue ?? TURN_TASK_QUEUE,
    workflowBundle: { codePath: options.workflowBundle ?? workflowBundlePath() },
    activities: { ...activities },
    ...NO_ISOLATE_TIMEOUT,
    // The sticky queue of a dead worker is left after this time; the default is 10 s.
    stickyQueueScheduleToStartTimeout: 1000,
    maxConcurrentActivityTaskExecutions: 200,
    maxConcurrentLocalActivityExecutions: 200,
  });
  const tools = await Worker.create({
    ...common,
    taskQueue: toolTaskQueue(hostId),
    activities: { runTool },
    maxConcurrentActivityTaskExecutions: 100,
  });
  const workers = [turns, tools];
  const { before = Promise.resolve() } = options;
  const runs = workers.map(async (worker) => {
    await before;
    await worker.run();
  });
  const finished = Promise.all(runs).then(() => undefined);
  return {
    finished,
    stop: async () => {
      await before;
      for (const worker of workers) {
        if (worker.getState() === 'RUNNING') worker.shutdown();
      }
      // Also where one has failed: the other hands over before the store closes.
      const ended = Promise.allSettled(runs).then(() => true);
      const inTime = await Promise.race([ended, sleep(STOP_LIMIT_MS, false, { ref: false })]);
      if (!inTime) throw new Error('The engine did not answer; what ran is handed over by the log alone.');
      await finished;
    },
  };
}
