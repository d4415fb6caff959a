import { afterEach, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../src/tools/tool.js';
import { ScriptedModelServer } from '../support/scripted-model-server.js';
import { startTurnRuntime, type TurnRuntime } from '../support/turn-runtime.js';

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.stop();
});

/** A quick read that says how often it was started; each start but the last waits until it is cut off. */
function lookTool(slowRuns: number) {
  let starts = 0;
  const tool = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: z.strictObject({}),
    effect: 'read',
    permission: 'read',
    quick: true,
    concurrency: () => 'parallel',
    execute: async (_args, { signal }) => {
      starts += 1;
      const start = starts;
      if (start <= slowRuns) {
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        });
      }
      return { content: `start ${String(start)}` };
    },
  });
  return tool as Tool;
}

async function run(slowRuns: number): Promise<{ output: string; activities: string[] }> {
  const model = await ScriptedModelServer.start({
    script: [{ calls: [{ name: 'look', arguments: {} }] }, { text: 'Seen.' }],
  });
  open.push({ stop: () => model.close() });
  const runtime: TurnRuntime = await startTurnRuntime({
    temporalAddress: inject('temporalAddress'),
    modelUrl: model.url,
    tools: [lookTool(slowRuns)],
  });
  open.push(runtime);
  const uid = await runtime.createSession();
  await runtime.prompt(uid, 'go');
  expect((await runtime.ended(uid, 1)).output).toBe('Seen.');
  const result = (await runtime.events(uid)).find((event) => event.type === 'tool/result');
  const block = result?.data.content[0];
  const handle = runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
  await handle.result();
  const history = await handle.fetchHistory();
  return {
    output: block?.type === 'text' ? block.text : '',
    activities: (history.events ?? []).flatMap(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
    ),
  };
}

it('a quick call has no activity of its own', async () => {
  expect(await run(0)).toEqual({ output: 'start 1', activities: ['callModel', 'callModel'] });
});

it('a quick call that takes longer than a second is cut off and run again as one', async () => {
  expect(await run(1)).toEqual({
    output: 'start 2',
    activities: ['callModel', 'runTool', 'callModel'],
  });
});
