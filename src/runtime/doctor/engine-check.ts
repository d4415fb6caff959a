/** Checks the engine: whether it answers, and whether anybody works for it. */
import { Connection } from '@temporalio/client';
import { toolTaskQueue, TURN_TASK_QUEUE } from '../../contract/agent-turn.js';
import type { Configuration } from '../../contract/configuration.js';
import { readEngineState, recordedEngine } from '../engine/engine-state.js';
import { LOOPBACK } from '../engine/free-port.js';
import { readLiveServer } from '../home/home-lock.js';
import { readHostId } from '../home/prepare-home.js';
import { type Check, ok, problem, warning } from './check.js';

const CALL_TIMEOUT_MS = 3000;
/** `temporal.api.enums.v1.TaskQueueType`. */
const WORKFLOW_QUEUE = 1;
const ACTIVITY_QUEUE = 2;
/** A worker that asked for work so long ago is gone. */
const POLLER_FRESH_MS = 90_000;

/** Where the engine of this configuration answers; undefined for an embedded one that does not run. */
export function engineAddress({ home, engine }: Configuration): string | undefined {
  if (engine.address !== null) return engine.address;
  const state = readEngineState(home);
  return state === undefined || recordedEngine(state) === undefined
    ? undefined
    : `${LOOPBACK}:${String(state.port)}`;
}

export const engineCheck: Check = {
  name: 'engine',
  run: async ({ configuration }) => {
    const address = engineAddress(configuration);
    if (address === undefined) return ok('The embedded engine does not run; a server starts it.');
    const { namespace, address: ofConfiguration } = configuration.engine;
    const what = ofConfiguration === null ? 'The embedded engine' : 'The engine';
    return withEngine(address, async (connection) => {
      const { serverVersion } = await connection.workflowService.getSystemInfo({});
      const { config } = await connection.workflowService.describeNamespace({ namespace });
      const days = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400;
      return ok(
        `${what} at ${address} answers: Temporal ${serverVersion}, namespace ${namespace}, which keeps ended ` +
          `workflows for ${String(Math.round(days * 10) / 10)} days.`,
      );
    });
  },
};

export const workerCheck: Check = {
  name: 'worker',
  run: async ({ configuration }) => {
    const address = engineAddress(configuration);
    if (address === undefined) return ok('Without an engine there is no work; a server brings both.');
    const pollers = await withEngine(address, (connection) => pollersOf(connection, configuration));
    const fresh = pollers.filter(({ lastAccess }) => Date.now() - lastAccess < POLLER_FRESH_MS);
    const idle = Object.keys(WORK).filter(
      (queue) => !fresh.some((poller) => poller.queue === queue),
    ) as Queue[];
    if (idle.length === 0) {
      const names = [...new Set(fresh.map(({ identity }) => identity))];
      return ok(`${names.join(', ')} ${names.length === 1 ? 'asks' : 'ask'} the engine for work.`);
    }
    const message = `Nobody asks the engine for ${idle.map((queue) => WORK[queue]).join(', nor for ')}.`;
    return readLiveServer(configuration.home) === undefined
      ? warning(`${message} "turnkeeper serve" does.`)
      : problem(`${message} A server has the home: stop it and start it again; its log may say why.`);
  },
};

/** What is asked for at each of the queues. */
const WORK = { turns: 'turns', models: 'model calls', tools: 'the tools of this host' } as const;
type Queue = keyof typeof WORK;

interface Poller {
  readonly queue: Queue;
  readonly identity: string;
  /** By the engine's clock, in milliseconds since the epoch. */
  readonly lastAccess: number;
}

/** Who asks for work at the queues of this installation; the tools of a home that was never used have none. */
export async function pollersOf(
  { workflowService }: Connection,
  { home, engine }: Pick<Configuration, 'home' | 'engine'>,
): Promise<Poller[]> {
  const hostId = readHostId(home);
  const queues: readonly (readonly [Queue, string, number])[] = [
    ['turns', TURN_TASK_QUEUE, WORKFLOW_QUEUE],
    ['models', TURN_TASK_QUEUE, ACTIVITY_QUEUE],
    ...(hostId === undefined ? [] : [['tools', toolTaskQueue(hostId), ACTIVITY_QUEUE] as const]),
  ];
  const found: Poller[] = [];
  for (const [queue, name, type] of queues) {
    const { pollers } = await workflowService.describeTaskQueue({
      namespace: engine.namespace,
      taskQueue: { name },
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- The enum is of a package that is not among ours.
      taskQueueType: type,
    });
    for (const { identity, lastAccessTime } of pollers) {
      found.push({
        queue,
        identity: identity ?? '',
        lastAccess: Number(lastAccessTime?.seconds ?? 0) * 1000 + (lastAccessTime?.nanos ?? 0) / 1e6,
      });
    }
  }
  return found;
}

/** Calls `work` with a connection, and a deadline for all its calls. Throws a sentence where the engine is away. */
export async function withEngine<T>(
  address: string,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  let connection: Connection;
  try {
    connection = await Connection.connect({ address, connectTimeout: CALL_TIMEOUT_MS });
  } catch {
    throw new Error(
      `The engine at ${address} does not answer. Look whether it runs and whether engine.address is right.`,
    );
  }
  try {
    return await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => work(connection));
  } finally {
    await connection.close();
  }
}
