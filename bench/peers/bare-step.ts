/** The floor under every step: the same activities of the same kinds on the same engine, with nothing in them. */
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
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
    Runtime.install({
      logger: new DefaultLogger('WARN'),
      telemetryOptions: { logging: { filter: 'WARN', forward: {} } },
    });
    const connection = await NativeConnection.connect({ address: engine.address });
    let calls: number[] = [];
    const worker = await Worker.create({
      connection,
      namespace: engine.namespace,
      taskQueue: TASK_QUEUE,
      workflowsPath: fileURLToPath(new URL('bare-step-workflow.ts', import.meta.url)),
      activities: {
        nothing: () => Promise.resolve(),
        call: async () => {
          calls.push(nowMs());
        },
      },
    });
    const client = new Client({ connection, namespace: engine.namespace });
    const run = async (locals: number): Promise<number> => {
      calls = [];
      await client.workflow.execute('bareSteps', {
        workflowId: `bench-bare-steps/${String(locals)}`,
        taskQueue: TASK_QUEUE,
        args: [STEPS, locals],
      });
      return median(intervals(calls));
    };
    try {
      return await worker.runUntil(async () => {
        await run(1);
        return [
          timeFigure(`one ordinary activity a step, n=${String(STEPS)}, median`, await run(0)),
          timeFigure('  and one local activity, median', await run(1)),
          timeFigure('  and two local activities (as a step with a quick tool has), median', await run(2)),
        ];
      });
    } finally {
      await connection.close();
    }
  },
};
