/** The floor under every step: the same activities of the same kinds on the same engine, with nothing in them. */
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker, Runtime } from '@temporalio/worker';
import type { Readiness } from '../../src/contract/http.js';
import { nowMs } from '../clock.js';
import { timeFigure, type Measurement } from '../measurement.js';
import { intervals, median } from '../statistics.js';

const STEPS = 100;
const TASK_QUEUE = 'bench-bare-steps';

export const bareStep: Measurement = {
  name: 'temporal',
  title: 'Peer: Temporal alone, on the same engine',
  run: async (bench) => {
    const { api } = await bench.shared();
    const { engine } = (await api.call<Readiness>('GET', '/readyz')).body;
    Runtime.install({ telemetryOptions: { logging: { filter: 'ERROR', forward: {} } } });
    const connection = await NativeConnection.connect({ address: engine.address });
    let calls: number[] = [];
    const nothing = () => Promise.resolve();
    const worker = await Worker.create({
      connection,
      namespace: engine.namespace,
      taskQueue: TASK_QUEUE,
      workflowsPath: fileURLToPath(new URL('bare-step-workflow.ts', import.meta.url)),
      activities: {
        advance: nothing,
        tool: nothing,
        call: async () => {
          calls.push(nowMs());
        },
      },
    });
    const client = new Client({ connection, namespace: engine.namespace });
    const run = async (withTool: boolean): Promise<number> => {
      calls = [];
      await client.workflow.execute('bareSteps', {
        workflowId: `bench-bare-steps/${String(withTool)}`,
        taskQueue: TASK_QUEUE,
        args: [STEPS, withTool],
      });
      return median(intervals(calls));
    };
    try {
      return await worker.runUntil(async () => {
        await run(true);
        return [
          timeFigure(
            `one ordinary and one local activity a step, n=${String(STEPS)}, median`,
            await run(false),
          ),
          timeFigure('one ordinary and two local activities a step, median', await run(true)),
        ];
      });
    } finally {
      await connection.close();
    }
  },
};
