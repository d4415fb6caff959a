/** Checks the engine: whether it answers, and whether anybody works for it. */
import { Connection } from '@temporalio/client';
import { TURN_TASK_QUEUE } from '../../contract/agent-turn.js';
import type { Configuration } from '../../contract/configuration.js';
import { readEngineState, recordedEngine } from '../engine/engine-state.js';
import { LOOPBACK } from '../engine/free-port.js';
import { readLiveServer } from '../home/home-lock.js';
import { type Check, ok, problem, warning } from './check.js';

const CALL_TIMEOUT_MS = 3000;
/** `temporal.api.enums.v1.TaskQueueType`. */
const WORKFLOW_QUEUE = 1;
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
    const { namespace } = configuration.engine;
    return withEngine(address, async (connection) => {
      const { serverVersion } = await connection.workflowService.getSystemInfo({});
      const { config } = await connection.workflowService.describeNamespace({ namespace });
      const days = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400;
      return ok(
        `The engine at ${address} answers: Temporal ${serverVersion}, namespace ${namespace}, which keeps ended ` +
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
    return withEngine(address, async (connection) => {
      const { pollers } = await connection.workflowService.describeTaskQueue({
        namespace: configuration.engine.namespace,
        taskQueue: { name: TURN_TASK_QUEUE },
        // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- The enum is of a package that is not among ours.
        taskQueueType: WORKFLOW_QUEUE,
      });
      const fresh = pollers.filter(
        ({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < POLLER_FRESH_MS,
      );
      if (fresh.length > 0) {
        return ok(
          `${String(fresh.length)} asks for work: ${fresh.map(({ identity }) => identity).join(', ')}.`,
        );
      }
      const isServed = readLiveServer(configuration.home) !== undefined;
      const message = 'Nobody asks the engine for turns to work on.';
      return isServed
        ? problem(`${message} A server has the home: stop it and start it again; its log may say why.`)
        : warning(`${message} "turnkeeper serve" does.`);
    });
  },
};

async function withEngine<T>(address: string, work: (connection: Connection) => Promise<T>): Promise<T> {
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
