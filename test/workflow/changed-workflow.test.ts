/** Workflow code that differs from what a turn began with: by a bug, or by a build that cannot replay it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApprovalId } from '../../src/contract/ids.js';
import { startSweeper } from '../../src/runtime/sweeper.js';
import { workflowBundlePath } from '../../src/runtime/workflow-bundle.js';
import { ASK_RULES, askingTools } from '../support/asking-tools.js';
import { checkLog } from '../support/log-invariants.js';
import { decide, openApprovals } from '../support/persons.js';
import { dataOf, turnSetup } from '../support/turn-setup.js';

const { start } = turnSetup();
const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-bundles-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** This build's workflow code with one line more in front of another. */
function bundleWith(name: string, line: string, before: string): string {
  const code = readFileSync(workflowBundlePath(), 'utf8');
  if (code.split(before).length !== 2) throw new Error(`The bundle has "${before}" not once.`);
  const file = join(folder, name);
  writeFileSync(file, code.replace(before, `${line}\n${before}`));
  return file;
}

const ADVANCE = 'const next = await activities.advance({ ...turn, completedStep });';

describe('an error in workflow code', () => {
  it('ends the turn as an error that points to the log of the server', async () => {
    const workflowBundle = bundleWith('throws.js', "throw new TypeError('a bug');", ADVANCE);
    const { runtime } = await start([], { workflowBundle });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    expect((await runtime.ended(uid, 1)).reason).toMatchObject({
      kind: 'error',
      code: 'WorkflowError',
      message: expect.stringContaining("server's log") as string,
    });
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });
});

describe('a build that cannot replay a turn', () => {
  it('keeps it, which the sweeper tells once, and a build that can goes on with it', async () => {
    const tools = { tools: askingTools([]) };
    const { runtime } = await start(
      [{ calls: [{ name: 'deliver', arguments: { text: 'x' } }] }, { text: 'Done.' }],
      {
        ...tools,
        profile: { permission: 'workspace-write', rules: ASK_RULES },
      },
    );
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const [id] = await openApprovals(runtime, uid, 1);
    const workflowBundle = bundleWith(
      'another-command.js',
      'await activities.readTimeLeft({ ...turn, limitMs: 1 });',
      ADVANCE,
    );
    await runtime.restart({ ...tools, workflowBundle });
    await decide(runtime, uid, id as ApprovalId);

    let now = Date.now() + 60_000;
    const lines: string[] = [];
    const sweeper = startSweeper({
      store: runtime.store,
      engine: runtime.engine,
      clock: () => now,
      logger: pino(
        new Writable({
          write: (chunk: Buffer, _encoding, done) => {
            lines.push(chunk.toString());
            done();
          },
        }),
      ),
      isEngineUp: () => true,
    });
    await expect
      .poll(
        async () => {
          now += 600_000;
          await sweeper.sweepAll();
          return sweeper.stuckTurns();
        },
        { timeout: 40_000, interval: 300 },
      )
      .toBe(1);
    await sweeper.sweepAll();
    sweeper.stop();
    expect(lines.filter((line) => line.includes('cannot be replayed'))).toHaveLength(1);
    expect(await runtime.engine.describeTurn(uid, 1)).toMatchObject({ kind: 'running' });
    expect(dataOf(await runtime.events(uid), 'turn/end')).toEqual([]);

    await runtime.restart(tools);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });
});
