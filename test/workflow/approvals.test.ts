import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import type { ApprovalId, QuestionId } from '../../src/contract/ids.js';
import { startSweeper } from '../../src/runtime/sweeper.js';
import { ASK_RULES, askingTools, type Ran } from '../support/asking-tools.js';
import { checkLog } from '../support/log-invariants.js';
import { answer, decide, openApprovals } from '../support/persons.js';
import { dataOf, turnSetup, untilEvent, type SetupOptions } from '../support/turn-setup.js';

const { start } = turnSetup();

interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}
const deliver = (text: string): Call => ({ name: 'deliver', arguments: { text } });
const announce = (text: string): Call => ({ name: 'announce', arguments: { text } });
const look = (text: string): Call => ({ name: 'look', arguments: { text } });

async function asking(calls: readonly Call[], options: SetupOptions = {}) {
  const ran: Ran[] = [];
  const setup = await start([{ calls: [...calls] }, { text: 'Done.' }], {
    tools: askingTools(ran),
    ...options,
    profile: { permission: 'workspace-write', rules: ASK_RULES, ...options.profile },
  });
  const uid = await setup.runtime.createSession();
  await setup.runtime.prompt(uid, 'go');
  return { ...setup, uid, ran };
}

const codesOf = (events: readonly SessionEvent[]) =>
  dataOf(events, 'tool/result').map(({ error }) => error?.code ?? 'ok');
const typesOf = (events: readonly SessionEvent[], ...types: string[]) =>
  events.filter(({ type }) => types.includes(type)).map(({ type }) => type);
const idleUntil = (done: () => boolean) => expect.poll(done, { timeout: 10_000 }).toBe(true);

describe('a call that needs an approval', () => {
  it('is asked about with its arguments, their digest, a reason and a preview, and runs once it is allowed', async () => {
    const { runtime, uid, ran } = await asking([deliver('milk')]);
    const [id] = await openApprovals(runtime, uid, 1);
    const [asked] = dataOf(await runtime.events(uid), 'approval/asked');
    expect(asked).toMatchObject({
      approvalId: id,
      tool: 'deliver',
      arguments: '{"text":"milk"}',
      argumentsSha256: '023dd549bda90fd842f77e917ddb595abc6f82d387b14de486ca5988d19695af',
      reason: 'A rule of the profile wants deliver to be approved.',
      preview: { kind: 'text', text: 'deliver milk' },
    });
    expect(ran).toEqual([]);
    await decide(runtime, uid, id as ApprovalId);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect(ran).toEqual([{ tool: 'deliver', text: 'milk' }]);
    const events = await runtime.events(uid);
    expect(checkLog(events)).toEqual([]);
    expect(
      typesOf(events, 'approval/asked', 'approval/decided', 'tool/call', 'tool/started', 'tool/result'),
    ).toEqual(['approval/asked', 'approval/decided', 'tool/call', 'tool/started', 'tool/result']);
  });

  it('is not run by a signal alone, whatever it carries', async () => {
    const { runtime, uid, ran } = await asking([deliver('milk')]);
    const [id] = await openApprovals(runtime, uid, 1);
    const workflow = runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
    for (const payload of [
      undefined,
      null,
      7,
      'x',
      {},
      { approvalId: 7 },
      { approvalId: 'other' },
      { approvalId: id },
    ]) {
      await workflow.signal('decideApproval', payload);
      await workflow.signal('answerQuestion', payload);
    }
    // The one that names it has been looked at: the workflow waits again.
    await expect
      .poll(async () => {
        const { events } = await workflow.fetchHistory();
        return events?.filter(({ activityTaskCompletedEventAttributes: done }) => done != null).length;
      })
      .toBeGreaterThanOrEqual(2);
    expect(ran).toEqual([]);
    expect((await runtime.store.readState(uid)).approvals).toHaveLength(1);
    await decide(runtime, uid, id as ApprovalId);
    await runtime.ended(uid, 1);
    expect(ran).toHaveLength(1);
  });

  it('whose decision was stored and not told is told by the sweeper', async () => {
    const { runtime, uid, ran } = await asking([deliver('milk')]);
    const [id] = await openApprovals(runtime, uid, 1);
    await decide(runtime, uid, id as ApprovalId, { silent: true });
    const sweeper = startSweeper({
      store: runtime.store,
      engine: runtime.engine,
      clock: Date.now,
      logger: pino({ level: 'silent' }),
      isEngineUp: () => true,
    });
    await runtime.ended(uid, 1);
    sweeper.stop();
    expect(ran).toHaveLength(1);
  });

  it('waits on through a restart of the worker with nothing in memory', async () => {
    const { runtime, uid, ran } = await asking([look('first'), deliver('milk')]);
    const [id] = await openApprovals(runtime, uid, 1);
    await runtime.restart();
    await decide(runtime, uid, id as ApprovalId);
    await runtime.ended(uid, 1);
    expect(ran.map(({ text }) => text)).toEqual(['first', 'milk']);
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });

  it('is not asked about again by a fresh run of its turn', async () => {
    const { runtime, uid, ran } = await asking([announce('one'), announce('two')]);
    const [one, two] = (await openApprovals(runtime, uid, 2)) as [ApprovalId, ApprovalId];
    const workflow = runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
    await workflow.terminate('the engine has lost it');
    await decide(runtime, uid, one, { silent: true });
    await runtime.engine.startTurn(uid, 1);
    await idleUntil(() => ran.length === 1);
    await decide(runtime, uid, two);
    await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    expect(dataOf(events, 'approval/asked')).toHaveLength(2);
    expect(ran.map(({ text }) => text).sort()).toEqual(['one', 'two']);
    expect(checkLog(events)).toEqual([]);
  });

  it('that is denied does not run, and the model reads the note', async () => {
    const { runtime, uid, ran, model } = await asking([deliver('milk')]);
    const [id] = await openApprovals(runtime, uid, 1);
    await decide(runtime, uid, id as ApprovalId, { outcome: 'denied', note: 'Oat milk only.' });
    await runtime.ended(uid, 1);
    expect(ran).toEqual([]);
    expect(codesOf(await runtime.events(uid))).toEqual(['DENIED']);
    expect(model.requests.at(-1)?.raw).toContain('Oat milk only.');
  });

  it('runs with the arguments that a person put in their place, and the model is told', async () => {
    const { runtime, uid, ran, model } = await asking([deliver('milk')]);
    const [id] = await openApprovals(runtime, uid, 1);
    await decide(runtime, uid, id as ApprovalId, { arguments: { text: 'oat milk' } });
    await runtime.ended(uid, 1);
    expect(ran).toEqual([{ tool: 'deliver', text: 'oat milk' }]);
    expect(model.requests.at(-1)?.raw).toContain('A person changed the arguments');
    expect(dataOf(await runtime.events(uid), 'tool/call')[0]?.arguments).toBe('{"text":"milk"}');
  });

  it('expires by the engine alone, and a decision after that changes nothing', async () => {
    const { runtime, uid, ran } = await asking([deliver('milk')], { profile: { approvalExpiresMs: 300 } });
    const [id] = await openApprovals(runtime, uid, 1);
    await runtime.ended(uid, 1);
    await expect(decide(runtime, uid, id as ApprovalId)).resolves.toBeUndefined();
    const events = await runtime.events(uid);
    expect(codesOf(events)).toEqual(['APPROVAL_EXPIRED']);
    expect(dataOf(events, 'approval/decided').map(({ outcome }) => outcome)).toEqual(['expired']);
    expect(ran).toEqual([]);
  });

  it('uses none of the time that the turn has', async () => {
    const { runtime, uid } = await asking([deliver('milk')], { policy: { wallTimeMs: 1500 } });
    const [id] = await openApprovals(runtime, uid, 1);
    const workflow = runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
    // Longer than the limit, by the engine's own clock.
    await expect
      .poll(
        async () => (Date.now() - Date.parse((await workflow.describe()).startTime.toISOString())) / 1000,
        { timeout: 10_000 },
      )
      .toBeGreaterThan(2);
    await decide(runtime, uid, id as ApprovalId);
    expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
  });

  it('uses none of it either where the workflow has not heard of the ask', async () => {
    let hold: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      hold = resolve;
    });
    const { runtime, uid } = await asking([deliver('milk')], {
      policy: { wallTimeMs: 700 },
      // The outcome of the model call, and with it the ask, reaches the workflow long after its time would be over.
      wrapActivities: (activities) => ({
        ...activities,
        callModel: async (step) => {
          const outcome = await activities.callModel(step);
          if (step.step === 1) await held;
          return outcome;
        },
      }),
    });
    const [id] = await openApprovals(runtime, uid, 1);
    const workflow = runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`);
    // The timer has fired and found that the log has time left.
    await expect
      .poll(
        async () =>
          (await workflow.fetchHistory()).events?.filter(
            ({ timerFiredEventAttributes: fired }) => fired != null,
          ).length,
        { timeout: 10_000 },
      )
      .toBeGreaterThan(0);
    hold?.();
    await decide(runtime, uid, id as ApprovalId);
    expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
  });

  it('is withdrawn where its turn is cancelled, and never runs', async () => {
    const { runtime, uid, ran } = await asking([look('first'), deliver('milk'), announce('later')]);
    const ids = await openApprovals(runtime, uid, 2);
    await idleUntil(() => ran.length === 1);
    await runtime.engine.cancelTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).reason?.kind).toBe('aborted');
    const events = await runtime.events(uid);
    expect(
      dataOf(events, 'approval/decided').map(({ approvalId, outcome }) => [approvalId, outcome]),
    ).toEqual(ids.map((approvalId) => [approvalId, 'withdrawn']));
    expect(codesOf(events)).toEqual(['ok', 'ABORTED_BEFORE_DISPATCH', 'ABORTED_BEFORE_DISPATCH']);
    expect(ran.map(({ text }) => text)).toEqual(['first']);
    expect(checkLog(events)).toEqual([]);
  });
});

describe('several asks of one step', () => {
  it('are raised at once, and decided in any order each goes to its own call', async () => {
    const { runtime, uid, ran } = await asking([announce('one'), announce('two'), announce('three')]);
    const [one, two, three] = (await openApprovals(runtime, uid, 3)) as [ApprovalId, ApprovalId, ApprovalId];
    await decide(runtime, uid, three);
    await idleUntil(() => ran.length === 1);
    await decide(runtime, uid, one, { outcome: 'denied' });
    await decide(runtime, uid, two);
    await runtime.ended(uid, 1);
    expect(ran.map(({ text }) => text).sort()).toEqual(['three', 'two']);
    const events = await runtime.events(uid);
    expect(codesOf(events)).toEqual(['DENIED', 'ok', 'ok']);
    expect(checkLog(events)).toEqual([]);
  });

  it('wait in line where they are exclusive, though the later one is decided first', async () => {
    const { runtime, uid, ran } = await asking([deliver('one'), deliver('two')]);
    const [one, two] = (await openApprovals(runtime, uid, 2)) as [ApprovalId, ApprovalId];
    await decide(runtime, uid, two);
    await decide(runtime, uid, one);
    await runtime.ended(uid, 1);
    expect(ran.map(({ text }) => text)).toEqual(['one', 'two']);
  });

  it('hold up no parallel call beside them, but an exclusive one behind them', async () => {
    const { runtime, uid, ran } = await asking(
      [look('before'), announce('asked'), look('beside'), { name: 'deliver', arguments: { text: 'behind' } }],
      { profile: { rules: [{ tool: 'announce', decision: 'ask' }] } },
    );
    const [id] = await openApprovals(runtime, uid, 1);
    await idleUntil(() => ran.length === 2);
    expect(ran.map(({ text }) => text).sort()).toEqual(['before', 'beside']);
    await decide(runtime, uid, id as ApprovalId);
    await runtime.ended(uid, 1);
    expect(ran.map(({ text }) => text).slice(2)).toEqual(['asked', 'behind']);
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });

  it('take no place in the pool while they wait', async () => {
    const { runtime, uid, ran } = await asking([announce('one'), announce('two'), look('beside')], {
      policy: { maxParallelToolCalls: 1 },
    });
    const ids = await openApprovals(runtime, uid, 2);
    await idleUntil(() => ran.length === 1);
    for (const id of ids) await decide(runtime, uid, id);
    await runtime.ended(uid, 1);
    expect(ran.map(({ text }) => text).sort()).toEqual(['beside', 'one', 'two']);
  });

  it('number sixty and are all decided', async () => {
    const texts = Array.from({ length: 60 }, (_, n) => `call ${String(n)}`);
    const { runtime, uid, ran } = await asking(texts.map(deliver));
    const ids = await openApprovals(runtime, uid, 60);
    await Promise.all(ids.map((id) => decide(runtime, uid, id)));
    await runtime.ended(uid, 1);
    expect(ran.map(({ text }) => text)).toEqual(texts);
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });
});

describe('an approval for the session', () => {
  it('lets the same call run again without being asked about, and no other', async () => {
    const ran: Ran[] = [];
    const { runtime } = await start(
      [
        { calls: [deliver('milk')] },
        { calls: [deliver('milk')] },
        { calls: [deliver('beer')] },
        { text: 'Done.' },
      ],
      { tools: askingTools(ran), profile: { permission: 'workspace-write', rules: ASK_RULES } },
    );
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const [id] = await openApprovals(runtime, uid, 1);
    await decide(runtime, uid, id as ApprovalId, { scope: 'session' });
    await untilEvent(runtime, uid, ({ type, step }) => type === 'approval/asked' && step === 3);
    expect(ran.map(({ text }) => text)).toEqual(['milk', 'milk']);
    const [other] = await openApprovals(runtime, uid, 1);
    await decide(runtime, uid, other as ApprovalId, { outcome: 'denied' });
    await runtime.ended(uid, 1);
    expect(ran).toHaveLength(2);
  });
});

describe('a turn that nobody attends', () => {
  it('has its asks closed as unavailable at once, and goes on', async () => {
    const ran: Ran[] = [];
    const questions = [{ id: 'q', question: 'Which?' }];
    const { runtime, model } = await start(
      [
        { calls: [deliver('milk'), { name: 'ask_user_question', arguments: { questions } }] },
        { text: 'Done.' },
      ],
      { tools: askingTools(ran), profile: { permission: 'workspace-write', rules: ASK_RULES } },
    );
    const uid = await runtime.createSession();
    await runtime.promptUnattended(uid, 'go');
    await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    expect(codesOf(events)).toEqual(['APPROVAL_UNAVAILABLE', 'APPROVAL_UNAVAILABLE']);
    expect(dataOf(events, 'approval/decided')[0]).toMatchObject({ outcome: 'unavailable', by: 'turnkeeper' });
    expect(model.requests.at(-1)?.raw).toContain('permission: full-access');
    expect(ran).toEqual([]);
    expect(checkLog(events)).toEqual([]);
  });
});

describe('a question', () => {
  it('waits for its answer, which the model reads', async () => {
    const questions = [{ id: 'colour', question: 'Which colour?', options: ['red', 'blue'] }];
    const { runtime, uid, model } = await asking([{ name: 'ask_user_question', arguments: { questions } }]);
    await untilEvent(runtime, uid, ({ type }) => type === 'question/asked');
    const { questions: open } = await runtime.store.readState(uid);
    await answer(runtime, uid, open[0] as QuestionId, [
      { id: 'colour', selected: ['blue'], text: 'A dark one.' },
    ]);
    await runtime.ended(uid, 1);
    expect(model.requests.at(-1)?.raw).toContain('blue');
    expect(model.requests.at(-1)?.raw).toContain('A dark one.');
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });
});
