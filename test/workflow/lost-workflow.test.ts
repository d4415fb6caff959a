import type { WorkflowHandle } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { SessionUid } from '../../src/contract/ids.js';
import { checkLog } from '../support/log-invariants.js';
import { dataOf, turnSetup } from '../support/turn-setup.js';
import type { TurnRuntime } from '../support/turn-runtime.js';

const { start } = turnSetup();

const SILENT = { text: 'one two', accident: { afterEvents: 2, what: 'silence' } } as const;

/** A turn whose first model calls show a word and then say nothing more. */
async function hanging(times: number, ...later: { readonly text: string }[]) {
  const setup = await start([...Array.from({ length: times }, () => SILENT), ...later]);
  const uid = await setup.runtime.createSession();
  const shown = setup.runtime.firstFrame(uid);
  await setup.runtime.prompt(uid, 'go');
  await shown;
  return { ...setup, uid };
}

const workflowOf = (runtime: TurnRuntime, uid: SessionUid): WorkflowHandle =>
  runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
const repairs = async (runtime: TurnRuntime, uid: SessionUid) =>
  dataOf(await runtime.events(uid), 'session/repaired');

describe('a turn whose workflow was ended by an operator', () => {
  it('goes on in a fresh run, which the log tells', async () => {
    const { runtime, uid } = await hanging(1, { text: 'Done.' });
    await workflowOf(runtime, uid).terminate('test');
    await runtime.engine.startTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect(await repairs(runtime, uid)).toEqual([
      { what: 'The workflow of turn 1 was lost; a fresh run goes on with the turn.', cause: 'workflow-lost' },
    ]);
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });

  it('ends as interrupted where each fresh run is lost before it has done anything', async () => {
    const { runtime, uid } = await hanging(9);
    for (let run = 1; run <= 6; run += 1) {
      await workflowOf(runtime, uid).terminate('test');
      await runtime.engine.startTurn(uid, 1);
      await expect.poll(async () => (await repairs(runtime, uid)).length, { timeout: 10_000 }).toBe(run);
    }
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toMatchObject({ kind: 'interrupted' });
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });
});

describe('how a workflow stands', () => {
  it('is told: unknown, at work, waiting for its next try, ended', async () => {
    const { runtime } = await start([{ status: 429, headers: { 'retry-after': '60' } }, { text: 'Done.' }]);
    const uid = await runtime.createSession();
    const describeIt = () => runtime.engine.describeTurn(uid, 1);
    expect(await describeIt()).toEqual({ kind: 'missing' });
    await runtime.prompt(uid, 'go');
    await expect.poll(describeIt).toMatchObject({
      kind: 'running',
      failedTasks: 0,
      activities: [{ type: 'callModel', state: 'scheduled', attempt: 2, lastFailure: 'ModelAttemptFailed' }],
    });
    const condition = await describeIt();
    const next = condition.kind === 'running' ? condition.activities[0]?.nextAttemptAt : undefined;
    expect(Date.parse(next ?? '') - Date.now()).toBeGreaterThan(30_000);
    await workflowOf(runtime, uid).terminate('test');
    await expect.poll(describeIt).toEqual({ kind: 'closed', status: 'terminated' });
  });
});
