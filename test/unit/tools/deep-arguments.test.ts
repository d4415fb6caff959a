import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/tools/tool.js';
import { createToolFixture } from './tool-fixture.js';

const keep = defineTool({
  name: 'keep',
  description: 'Keeps any value.',
  parameters: z.looseObject({}),
  effect: 'read',
  permission: 'none',
  concurrency: () => 'parallel',
  execute: () => Promise.resolve({ content: 'kept' }),
}) as Tool;

let fixture: Awaited<ReturnType<typeof createToolFixture>>;
beforeEach(async () => {
  fixture = await createToolFixture({ tools: [keep] });
});
afterEach(() => fixture.remove());

const nested = (depth: number) => `{"value":${'['.repeat(depth)}${']'.repeat(depth)}}`;

it('arguments that no walk over them would come back from are refused, whatever the schema takes', async () => {
  const { pipeline, request } = fixture;
  for (const depth of [110, 20_000]) {
    const plan = await pipeline.planCall(request('keep', nested(depth)));
    expect(plan.decision.kind).toBe('deny');
    const outcome = await pipeline.executeCall(request('keep', nested(depth)));
    expect(outcome.error?.code).toBe('INVALID_ARGS');
  }
  expect((await pipeline.executeCall(request('keep', nested(90)))).isError).toBe(false);
});
