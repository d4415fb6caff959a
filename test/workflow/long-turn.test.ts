import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { ScriptedModelServer } from '../support/scripted-model-server.js';
import { startTurnRuntime } from '../support/turn-runtime.js';

const STEPS = 1000;

it(
  'a turn of 1,000 steps completes over several runs, with a history that stays flat for each step',
  { timeout: 300_000 },
  async () => {
    const model = await ScriptedModelServer.start({
      script: ({ number }) =>
        number < STEPS
          ? { calls: [{ name: 'read', arguments: { file_path: 'a.txt' } }] }
          : { text: `after ${String(number)} steps` },
    });
    const runtime = await startTurnRuntime({
      temporalAddress: inject('temporalAddress'),
      modelUrl: model.url,
      policy: { wallTimeMs: null },
      profile: { limits: { steps: null, wallTimeMs: null, tokens: null, costUsd: null } },
    });
    writeFileSync(join(runtime.workspace, 'a.txt'), 'alpha\n');
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn).toMatchObject({
      reason: { kind: 'completed' },
      steps: STEPS,
      output: `after ${String(STEPS)} steps`,
    });
    expect(model.refusals).toEqual([]);

    const workflowId = `${runtime.deployment}/turn/${uid}/1`;
    await runtime.client.workflow.getHandle(workflowId).result();
    const sizes: number[] = [];
    for await (const run of runtime.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      const { historySize } = await runtime.client.workflow.getHandle(workflowId, run.runId).describe();
      sizes.push(historySize ?? 0);
    }
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    expect(sizes.length).toBeGreaterThan(1);
    expect(bytes / STEPS).toBeLessThan(4096);

    await runtime.stop();
    await model.close();
  },
);
