import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApprovalId, QuestionId } from '../../src/contract/ids.js';
import { ASK_RULES, askingTools, type Ran } from '../support/asking-tools.js';
import { checkLog } from '../support/log-invariants.js';
import { answer, decide, openApprovals } from '../support/persons.js';
import { startTimeSkippingServer, type TimeSkippingServer } from '../support/time-skipping-server.js';
import { dataOf, turnSetup, untilEvent, type SetupOptions } from '../support/turn-setup.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What a turn may work in these tests: far less than they wait. */
const WALL_TIME_MS = 60_000;
/** The program may have to be fetched. */
const FETCH_TIMEOUT_MS = 300_000;

let server: TimeSkippingServer;
/** How far the log's clock is in front of the machine's. */
let aheadMs: number;

// One for each test, since its clock does not go back; made before the setup, whose workers end before it.
beforeEach(async () => {
  server = await startTimeSkippingServer();
  aheadMs = 0;
}, FETCH_TIMEOUT_MS);
afterEach(() => server.stop());
const { start } = turnSetup();

/** Lets the time go by for the log and the engine alike. */
async function pass(milliseconds: number): Promise<void> {
  aheadMs += milliseconds;
  await server.skip(milliseconds);
}

async function asking(
  call: { name: string; arguments: Record<string, unknown> },
  options: SetupOptions = {},
) {
  const ran: Ran[] = [];
  const setup = await start([{ calls: [call] }, { text: 'Done.' }], {
    temporalAddress: server.address,
    clock: () => Date.now() + aheadMs,
    tools: askingTools(ran),
    policy: { wallTimeMs: WALL_TIME_MS },
    ...options,
    profile: { permission: 'workspace-write', rules: ASK_RULES, ...options.profile },
  });
  const uid = await setup.runtime.createSession();
  await setup.runtime.prompt(uid, 'go');
  return { ...setup, uid, ran };
}

const MILK = { name: 'deliver', arguments: { text: 'milk' } };
const EXPIRING = { profile: { approvalExpiresMs: 7 * DAY_MS } } satisfies SetupOptions;

const outcomesOf = async ({ runtime, uid }: Awaited<ReturnType<typeof asking>>) =>
  dataOf(await runtime.events(uid), 'approval/decided').map(({ outcome }) => outcome);

describe('an approval', () => {
  it('that waits for thirty days is decided then, runs once, and has used none of the time of its turn', async () => {
    const { runtime, uid, ran } = await asking(MILK);
    const [id] = await openApprovals(runtime, uid, 1);
    await pass(30 * DAY_MS);
    expect((await runtime.store.readState(uid)).approvals).toHaveLength(1);
    await decide(runtime, uid, id as ApprovalId);
    expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
    expect(ran).toEqual([{ tool: 'deliver', text: 'milk' }]);
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });

  it('expires after seven days by the timer alone, and not before', async () => {
    const setup = await asking(MILK, EXPIRING);
    const { runtime, uid, ran } = setup;
    await openApprovals(runtime, uid, 1);
    await pass(7 * DAY_MS - HOUR_MS);
    expect(await outcomesOf(setup)).toEqual([]);
    await pass(2 * HOUR_MS);
    expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
    expect(await outcomesOf(setup)).toEqual(['expired']);
    expect(ran).toEqual([]);
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });

  it('is open as long as the log says so, though the clock of the engine is past its time', async () => {
    const setup = await asking(MILK, EXPIRING);
    const { runtime, uid, ran } = setup;
    await openApprovals(runtime, uid, 1);
    await server.skip(7 * DAY_MS + 5000);
    const workflow = runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
    const asked = async () => {
      const { events } = await workflow.fetchHistory();
      return events?.filter(({ activityTaskCompletedEventAttributes: done }) => done != null).length ?? 0;
    };
    // The model's call, and the tool's, which was told to wait on.
    await expect.poll(asked, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
    expect(await outcomesOf(setup)).toEqual([]);
    aheadMs += 7 * DAY_MS + 5000;
    await server.skip(5000);
    await runtime.ended(uid, 1);
    expect(await outcomesOf(setup)).toEqual(['expired']);
    expect(ran).toEqual([]);
  });
});

describe('a question', () => {
  it('that waits for thirty days is answered then', async () => {
    const questions = [{ id: 'colour', question: 'Which colour?' }];
    const { runtime, uid, model } = await asking({ name: 'ask_user_question', arguments: { questions } });
    await untilEvent(runtime, uid, ({ type }) => type === 'question/asked');
    await pass(30 * DAY_MS);
    const { questions: open } = await runtime.store.readState(uid);
    await answer(runtime, uid, open[0] as QuestionId, [{ id: 'colour', selected: [], text: 'A dark blue.' }]);
    expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
    expect(model.requests.at(-1)?.raw).toContain('A dark blue.');
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });
});
