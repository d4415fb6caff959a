/** A pipeline over the tool `echo`, whose body a test gives, and its twin `other`. */
import { afterEach, vi } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/tools/tool.js';
import { createToolFixture, type FixtureOptions, type ToolFixture } from './tool-fixture.js';

const fixtures: ToolFixture[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const fixture of fixtures.splice(0)) await fixture.remove();
});

const parameters = z.strictObject({
  text: z.string(),
  list: z.array(z.strictObject({ id: z.string() })).optional(),
});
type EchoBody = Tool<z.infer<typeof parameters>>['execute'];

export interface EchoOptions extends FixtureOptions {
  readonly body?: EchoBody;
  readonly tool?: Partial<Tool>;
}

export async function setUpEcho({
  body = async ({ text }) => ({ content: text }),
  tool,
  ...rest
}: EchoOptions = {}) {
  const execute = vi.fn<EchoBody>(body);
  const echo = defineTool({
    name: 'echo',
    description: 'Echoes.',
    parameters,
    effect: 'read',
    permission: 'read',
    quick: true,
    concurrency: () => 'parallel',
    execute,
  });
  const changed = { ...echo, ...tool } as Tool;
  const fixture = await createToolFixture({ ...rest, tools: [changed, { ...changed, name: 'other' }] });
  fixtures.push(fixture);
  return { ...fixture, execute };
}
