import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { runPreStep } from '../../../../src/activities/run-turn-hooks.js';
import type { PreStepInput } from '../../../../src/activities/turn-hooks.js';
import type { InputBlock } from '../../../../src/contract/content.js';
import type { RequestId, SessionId, Sha256 } from '../../../../src/contract/ids.js';
import { ZERO_USAGE } from '../../../../src/contract/usage.js';
import { observeEvents } from '../../../../src/runtime/extensions/event-observers.js';
import { loadExtensions } from '../../../../src/runtime/extensions/load-extensions.js';
import { BUILT_IN_TOOLS } from '../../../../src/tools/built-in-tools.js';
import { createToolFixture, textOf, type ToolFixture } from '../../tools/tool-fixture.js';

const EXAMPLE = fileURLToPath(new URL('../../../../examples/extensions/tickets.mjs', import.meta.url));
const DOCUMENTATION = new URL('../../../../docs/extensions.md', import.meta.url);

let fixture: ToolFixture | undefined;
afterEach(async () => {
  await fixture?.remove();
});

async function setUp() {
  const lines: unknown[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const extensions = await loadExtensions([EXAMPLE], {
    configurationFile: undefined,
    logger,
    takenToolNames: BUILT_IN_TOOLS.map(({ name }) => name),
  });
  fixture = await createToolFixture({
    tools: [...BUILT_IN_TOOLS, ...extensions.tools],
    hooks: extensions.toolHooks,
  });
  return { ...fixture, ...extensions, lines, logger };
}

describe('the example of an extension', () => {
  it('files one ticket for one call, however often a crash makes it run', async () => {
    const { run, context, workspace } = await setUp();
    const { idempotencyKey } = context();
    const first = await run('file_ticket', { title: 'It leaks.' }, { idempotencyKey });
    const again = await run('file_ticket', { title: 'It leaks.' }, { idempotencyKey });
    expect(textOf(again)).toBe(textOf(first));
    const files = readdirSync(join(workspace, 'tickets'));
    expect(files).toHaveLength(1);
    expect(JSON.parse(readFileSync(join(workspace, 'tickets', files[0]!), 'utf8'))).toEqual({
      title: 'It leaks.',
      urgent: false,
    });
    await run('file_ticket', { title: 'It leaks.' });
    expect(readdirSync(join(workspace, 'tickets'))).toHaveLength(2);
  });

  it('ends the turn with a tool, which refuses a ticket that is not there', async () => {
    const { run } = await setUp();
    const refused = await run('hand_over', { ticket: '00000000' });
    expect(refused).toMatchObject({ isError: true, error: { name: 'ToolError', code: 'TOOL_ERROR' } });
    const number = textOf(await run('file_ticket', { title: 'It leaks.' })).match(/[0-9a-f]{8}/)?.[0];
    expect((await run('hand_over', { ticket: number })).meta).toEqual({ concludesTurn: true });
  });

  it('lets nobody push', async () => {
    const { run } = await setUp();
    const pushed = await run('bash', { command: 'cd x && git  push origin' });
    expect(pushed.error?.code).toBe('DENIED');
    expect(textOf(pushed)).toContain('Only people push.');
    expect(textOf(await run('bash', { command: 'echo git pushes' }))).toContain('git pushes');
  });

  it('rejects a prompt with a private key, also where that is in a blob', async () => {
    const { turnHooks } = await setUp();
    const key = 'x'.repeat(100_000) + '-----BEGIN OPENSSH PRIVATE KEY-----';
    const input = (...content: InputBlock[]): PreStepInput => ({
      session: {
        id: 's1',
        uid: 'u',
        workspace: '/w',
        profile: 'default',
        provider: 'demo',
        model: 'demo',
        permission: 'workspace-write',
        metadata: {},
      },
      turn: 1,
      step: 1,
      entries: [
        {
          itemId: 'a',
          content,
          source: { kind: 'user', requestId: 'r' as RequestId },
          at: '2026-01-01T00:00:00Z',
        },
      ],
      readBlob: async () => new TextEncoder().encode(key),
    });
    const blob: InputBlock = {
      type: 'blob',
      sha256: '0'.repeat(64) as Sha256,
      bytes: key.length,
      mediaType: 'text/plain',
      head: 'x',
      tail: 'x',
    };
    const rejected = { kind: 'blocked', hook: 'no-private-keys' };
    expect(await runPreStep(turnHooks.preStep, input({ type: 'text', text: key }))).toMatchObject(rejected);
    expect(await runPreStep(turnHooks.preStep, input(blob))).toMatchObject(rejected);
    const harmless = input({ type: 'text', text: 'Hello.' });
    expect(await runPreStep(turnHooks.preStep, harmless)).toMatchObject({ kind: 'enter', added: [] });
  });

  it('counts turns in the log of the server', async () => {
    const { eventObservers, lines, logger } = await setUp();
    const at = { sessionId: 's1' as SessionId, at: '2026-01-01T00:00:00.000Z', turn: 4 };
    await observeEvents(
      eventObservers,
      [
        { ...at, seq: 8, type: 'step/end', step: 1, data: { next: 'end' } },
        {
          ...at,
          seq: 9,
          type: 'turn/end',
          data: { reason: { kind: 'completed' }, usage: ZERO_USAGE, steps: 1 },
        },
      ],
      logger,
    );
    expect(lines).toMatchObject([{ extension: 'tickets.mjs', turn: 4, reason: 'completed' }]);
  });

  it('stands in the documentation as it is', () => {
    expect(readFileSync(DOCUMENTATION, 'utf8')).toContain(readFileSync(EXAMPLE, 'utf8').trim());
  });
});
