import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../src/tools/tool.js';
import { checkLog } from '../support/log-invariants.js';
import { dataOf, turnSetup } from '../support/turn-setup.js';

const { start } = turnSetup();

/** Runs a command that notes its key, and that ends the second time only. */
const noteKey = defineTool({
  name: 'note_key',
  description: 'Notes the idempotency key.',
  parameters: z.strictObject({}),
  effect: 'idempotent',
  permission: 'none',
  concurrency: () => 'exclusive',
  execute: async (_args, context) => {
    const { workspace, protectedPaths, idempotencyKey, signal, output, saveBlob } = context;
    await context.execution.runCommand({
      command:
        'echo "$TURNKEEPER_IDEMPOTENCY_KEY" >> keys.txt; [ $(wc -l < keys.txt) -ge 2 ] || exec sleep 600',
      workdir: undefined,
      scope: { workspace, protectedPaths },
      sandbox: null,
      timeoutMs: 60_000,
      idempotencyKey,
      signal,
      output,
      saveBlob,
    });
    return { content: 'noted' };
  },
}) as Tool;

it('a call that may be repeated is run again after its worker has stopped, under the same idempotency key', async () => {
  const { runtime } = await start([{ calls: [{ name: 'note_key', arguments: {} }] }, { text: 'Done.' }], {
    tools: [noteKey],
  });
  const uid = await runtime.createSession();
  await runtime.prompt(uid, 'go');
  const keys = () => linesOf(join(runtime.workspace, 'keys.txt'));
  await expect.poll(keys, { timeout: 20_000 }).toHaveLength(1);
  await runtime.restart();
  await runtime.ended(uid, 1);
  expect(keys()).toEqual([`${uid}/1.1.0`, `${uid}/1.1.0`]);
  const events = await runtime.events(uid);
  expect(dataOf(events, 'tool/started').map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(dataOf(events, 'tool/result')).toMatchObject([{ isError: false }]);
  expect(checkLog(events)).toEqual([]);
});

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1);
  } catch {
    // Not written yet.
    return [];
  }
}
