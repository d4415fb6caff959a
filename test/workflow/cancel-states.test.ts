/** A cancel in the states that are hard to hit, and from where it is hard to hear; see also `cancel.test.ts`. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { requestCancel } from '../../src/api/cancel.js';
import type { SessionUid } from '../../src/contract/ids.js';
import { startEmbeddedEngine } from '../../src/runtime/engine/embedded-engine.js';
import { findTemporalCli } from '../../src/runtime/engine/find-temporal-cli.js';
import { startSweeper } from '../../src/runtime/sweeper.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { ASK_RULES, askingTools } from '../support/asking-tools.js';
import { checkLog } from '../support/log-invariants.js';
import { openApprovals } from '../support/persons.js';
import type { TurnRuntime } from '../support/turn-runtime.js';
import { dataOf, turnSetup, untilEvent } from '../support/turn-setup.js';

const stops: (() => unknown)[] = [];
// The last one runs first: what the runtimes stand on ends after them.
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
const { start, startWithApi } = turnSetup();

const ABORTED = { kind: 'aborted', cause: 'user', by: 'tester' };
const LOOK = { calls: [{ name: 'look', arguments: { text: 'x' } }] };
/** Only the log: nobody is told but who watches it. */
const cancelInLog = ({ store }: Pick<TurnRuntime, 'store'>, uid: SessionUid) =>
  requestCancel(store, uid, { by: 'tester' });
const logOf = async (runtime: TurnRuntime, uid: SessionUid) => {
  const events = await runtime.events(uid);
  expect(checkLog(events)).toEqual([]);
  return events;
};

describe('a cancel between two steps', () => {
  it.each(['before', 'after'] as const)(
    'that is stored %s the step is decided ends the turn',
    async (when) => {
      const { runtime, model } = await start([LOOK, { text: 'never' }], {
        tools: askingTools([]),
        wrapActivities: (activities) => ({
          ...activities,
          advance: async (input) => {
            const isIt = input.completedStep === 1 && input.stop === undefined;
            if (isIt && when === 'before') await cancelInLog(runtime, input.uid);
            const outcome = await activities.advance(input);
            if (isIt && when === 'after') await cancelInLog(runtime, input.uid);
            return outcome;
          },
        }),
      });
      const uid = await runtime.createSession();
      await runtime.prompt(uid, 'go');
      const turn = await runtime.ended(uid, 1);
      expect(turn).toMatchObject({ reason: ABORTED, steps: when === 'before' ? 1 : 2 });
      expect(model.requests).toHaveLength(1);
      await logOf(runtime, uid);
    },
  );
});

describe('a cancel while the turn waits', () => {
  it('for an answer withdraws the question, through the API', async () => {
    const questions = [{ id: 'q', question: 'Which?' }];
    const { runtime, client, model } = await startWithApi(
      [{ calls: [{ name: 'ask_user_question', arguments: { questions } }] }, { text: 'next' }],
      { tools: askingTools([]) },
    );
    await client.createSession({ id: 's' });
    await client.prompt('s', { text: 'go' });
    await expect.poll(async () => (await client.session('s')).status).toBe('waiting-approval');
    expect(await client.cancel('s')).toEqual({ cancelled: true, turn: 1 });
    expect(await client.turn('s', 1, { waitSeconds: 30 })).toMatchObject({ reason: { kind: 'aborted' } });
    expect((await client.questions({ status: 'all' })).items[0]?.answer?.outcome).toBe('withdrawn');
    await client.prompt('s', { text: 'again' });
    expect(await client.turn('s', 2, { waitSeconds: 30 })).toMatchObject({ output: 'next' });
    expect(model.refusals).toEqual([]);
    await logOf(runtime, (await runtime.store.findSession('default', 's' as never))!.uid);
  });

  it('for an approval is told by the sweeper where the engine was away', async () => {
    const call = { name: 'deliver', arguments: { text: 'milk' } };
    const { runtime } = await start([{ calls: [call] }], {
      tools: askingTools([]),
      profile: { permission: 'workspace-write', rules: ASK_RULES },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await openApprovals(runtime, uid, 1);
    await cancelInLog(runtime, uid);
    expect((await runtime.store.readState(uid)).openTurn?.number).toBe(1);
    const { store, engine } = runtime;
    const logger = pino({ level: 'silent' });
    const sweeper = startSweeper({ store, engine, clock: Date.now, logger, isEngineUp: () => true });
    stops.push(() => {
      sweeper.stop();
    });
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    await logOf(runtime, uid);
  });
});

describe('a cancel that the engine is not told', () => {
  it('closes the socket and ends the turn all the same', async () => {
    const { runtime, model } = await start(() => ({ connection: 'silence' }));
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const request = await model.request(1);
    await cancelInLog(runtime, uid);
    expect((await request.closed).early).toBe(true);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    await logOf(runtime, uid);
  });

  it('before the turn has begun takes the prompt of the turn, and none that comes after it', async () => {
    const { runtime, model } = await start([{ text: 'Both.' }]);
    const uid = await runtime.createSession();
    await runtime.admit(uid, 'cancelled', 'steer');
    await cancelInLog(runtime, uid);
    await runtime.admit(uid, 'later one', 'steer');
    await runtime.admit(uid, 'later two', 'queue');
    await runtime.engine.startTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    expect(await runtime.ended(uid, 2)).toMatchObject({ output: 'Both.' });
    const [{ raw } = { raw: '' }] = model.requests;
    expect([raw.includes('cancelled'), raw.includes('later one'), raw.includes('later two')]).toEqual([
      false,
      true,
      true,
    ]);
    await logOf(runtime, uid);
  });
});

describe('a cancel by another process', () => {
  /** The same database through a store of its own, whose commits nobody here is told of. */
  async function besideOf(runtime: TurnRuntime) {
    const store = await openSqliteStore({ path: runtime.databasePath, clock: Date.now });
    stops.push(() => store.close());
    return { store };
  }

  it('closes the socket of a silent model within two seconds', async () => {
    const { runtime, model } = await start(() => ({ connection: 'silence' }));
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const request = await model.request(1);
    const beside = await besideOf(runtime);
    const at = Date.now();
    await cancelInLog(beside, uid);
    await runtime.engine.cancelTurn(uid, 1);
    const closed = await request.closed;
    expect(closed.early).toBe(true);
    // The machine that runs this may be busy; the promise is two seconds.
    expect(closed.at - at).toBeLessThan(4000);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    await logOf(runtime, uid);
  });

  it('ends the whole process tree of a command', async () => {
    const marker = `4343${String(process.pid)}`;
    const { runtime } = await start([
      { calls: [{ name: 'bash', arguments: { command: `setsid sleep ${marker} & sleep ${marker}` } }] },
    ]);
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await untilEvent(runtime, uid, ({ type }) => type === 'tool/started');
    await cancelInLog(await besideOf(runtime), uid);
    await runtime.engine.cancelTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    const processes = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    await expect.poll(processes, { timeout: 5000 }).not.toContain(`sleep ${marker}`);
    expect(dataOf(await logOf(runtime, uid), 'tool/result').map(({ error }) => error?.code)).toEqual([
      'ABORTED',
    ]);
  });
});

describe('a cancel of a turn that continues as new', () => {
  /** An engine that suggests it every few steps. */
  async function restlessEngine(): Promise<string> {
    const home = mkdtempSync(join(tmpdir(), 'turnkeeper-restless-'));
    const { path } = await findTemporalCli();
    const cli = join(home, 'temporal');
    const extra = '--dynamic-config-value limit.historyCount.suggestContinueAsNew=30';
    writeFileSync(cli, `#!/bin/sh\nexec '${path}' "$@" ${extra}\n`);
    chmodSync(cli, 0o755);
    const quiet = () => undefined;
    const logger = { info: quiet, warn: quiet, error: console.error };
    const engine = await startEmbeddedEngine({ cli, home, namespace: 'default', logger });
    stops.push(
      () => {
        rmSync(home, { recursive: true, force: true });
      },
      () => engine.stop(),
    );
    return engine.address;
  }

  it('at any instant ends it, and its prompts go on', { timeout: 120_000 }, async () => {
    const temporalAddress = await restlessEngine();
    const { runtime, model } = await start(
      ({ raw }) => (raw.includes('stop now') ? { text: 'Stopped.' } : LOOK),
      {
        temporalAddress,
        tools: askingTools([]),
        profile: { limits: { steps: null, wallTimeMs: null, tokens: null, costUsd: null } },
      },
    );
    const runs: number[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const uid = await runtime.createSession();
        await runtime.prompt(uid, 'go');
        await untilEvent(runtime, uid, ({ step = 0 }) => step > 8 + n);
        await pause(n * 7);
        await cancelInLog(runtime, uid);
        await runtime.engine.cancelTurn(uid, 1);
        expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
        await runtime.prompt(uid, 'stop now');
        expect(await runtime.ended(uid, 2)).toMatchObject({ output: 'Stopped.' });
        await logOf(runtime, uid);
        const workflowId = `${runtime.deployment}/turn/${uid}/1`;
        await runtime.client.workflow.getHandle(workflowId).result();
        const { count } = await runtime.client.workflow.count(`WorkflowId = '${workflowId}'`);
        runs.push(count);
      }),
    );
    expect(Math.min(...runs)).toBeGreaterThan(1);
    expect(model.refusals).toEqual([]);
  });
});
