import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { ApprovalId, SessionUid } from '../../src/contract/ids.js';
import type { OldWorkPolicy } from '../../src/contract/events.js';
import { workedMs } from '../../src/activities/read-time-left.js';
import type { OpenTurn } from '../../src/core/session-state.js';
import { watchStandstills } from '../../src/runtime/standstills.js';
import { checkLog } from '../support/log-invariants.js';
import { decide, openApprovals } from '../support/persons.js';
import { dataOf, turnSetup, untilEvent } from '../support/turn-setup.js';
import type { TurnRuntime } from '../support/turn-runtime.js';

const { start } = turnSetup();
const HOUR_MS = 3_600_000;
const logger = pino({ level: 'silent' });

/** As a server does that starts so much later. */
async function standStill({ store }: TurnRuntime, ms: number, policy: OldWorkPolicy = 'ask'): Promise<void> {
  await store.liveness.markAlive(new Date().toISOString());
  const watch = await watchStandstills({
    store,
    oldWork: { policy, afterMs: 24 * HOUR_MS },
    clock: () => Date.now() + ms,
    logger,
    isEngineUp: () => true,
  });
  watch.stop();
}

const WRITE = { name: 'write', arguments: { file_path: 'a.txt', content: 'x' } };
const WRITE_AGAIN = { name: 'write', arguments: { file_path: 'b.txt', content: 'x' } };
const RATE_LIMITED = { status: 429, headers: { 'retry-after-ms': '1500' } };

/** A turn that waits for its provider when everything stands still, and then asks for two files, one after the other. */
async function interrupted(ms: number, policy?: OldWorkPolicy) {
  const { runtime, model } = await start([
    RATE_LIMITED,
    { calls: [WRITE] },
    { calls: [WRITE_AGAIN] },
    { text: 'Done.' },
  ]);
  const uid = await runtime.createSession();
  await runtime.prompt(uid, 'go');
  await untilEvent(runtime, uid, ({ type }) => type === 'llm/retry');
  await standStill(runtime, ms, policy);
  return { runtime, model, uid, file: (name: string) => join(runtime.workspace, name) };
}

const repairsOf = async (runtime: TurnRuntime, uid: SessionUid) =>
  dataOf(await runtime.events(uid), 'session/repaired');

describe('a turn that stood still for longer than work stays fresh', () => {
  it('asks before it changes anything, until a person has let a call run, and says so in the log', async () => {
    const { runtime, uid, file } = await interrupted(30 * HOUR_MS);
    const [id] = await openApprovals(runtime, uid, 1);
    expect(existsSync(file('a.txt'))).toBe(false);
    const [repaired] = await repairsOf(runtime, uid);
    expect(repaired).toMatchObject({ cause: 'interrupted', policy: 'ask' });
    expect(repaired?.what).toMatch(/^Turn 1 goes on after nothing could run for 1 d 6 h\./);
    const [asked] = dataOf(await runtime.events(uid), 'approval/asked');
    expect(asked?.reason).toBe(
      'The turn stood still for 1 d 6 h, so what it was asked for may be out of date.',
    );
    await decide(runtime, uid, id as ApprovalId);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect([existsSync(file('a.txt')), existsSync(file('b.txt'))]).toEqual([true, true]);
    const events = await runtime.events(uid);
    expect(dataOf(events, 'approval/asked')).toHaveLength(1);
    expect(checkLog(events)).toEqual([]);
  });

  it('does not count the standstill as time that it worked', async () => {
    const { runtime, uid } = await interrupted(30 * HOUR_MS);
    const { openTurn } = await runtime.store.readState(uid);
    expect(workedMs(openTurn as OpenTurn, Date.now() + 30 * HOUR_MS)).toBeLessThan(60_000);
    const [id] = await openApprovals(runtime, uid, 1);
    await decide(runtime, uid, id as ApprovalId);
    await runtime.ended(uid, 1);
  });

  it('resumes without asking where the policy says so, and tells the model once', async () => {
    const { runtime, model, uid, file } = await interrupted(30 * HOUR_MS, 'resume');
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect(existsSync(file('b.txt'))).toBe(true);
    expect(dataOf(await runtime.events(uid), 'approval/asked')).toEqual([]);
    expect(await repairsOf(runtime, uid)).toMatchObject([{ policy: 'resume' }]);
    const notices = dataOf(await runtime.events(uid), 'user/message').filter(
      ({ source }) => source.kind === 'context' && source.form === 'notice',
    );
    expect(notices).toHaveLength(1);
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('could run for 1 d 6 h');
  });

  it('is asked about also where it had not begun', async () => {
    const { runtime } = await start([{ calls: [WRITE] }, { text: 'Done.' }]);
    const uid = await runtime.createSession();
    await runtime.admit(uid, 'go', 'queue');
    await standStill(runtime, 30 * HOUR_MS);
    await runtime.engine.startTurn(uid, 1);
    const [id] = await openApprovals(runtime, uid, 1);
    await decide(runtime, uid, id as ApprovalId);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect(checkLog(await runtime.events(uid))).toEqual([]);
  });
});

describe('a shorter standstill', () => {
  it('is told by the log and changes nothing else', async () => {
    const { runtime, uid } = await interrupted(HOUR_MS);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    const [repaired] = await repairsOf(runtime, uid);
    expect(repaired).toMatchObject({ cause: 'interrupted' });
    expect(repaired).not.toHaveProperty('policy');
  });

  it('of seconds is not even told', async () => {
    const { runtime, uid } = await interrupted(10_000);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect(await repairsOf(runtime, uid)).toEqual([]);
  });

  it('that two servers see is told once', async () => {
    const { runtime } = await start([{ text: 'Done.' }]);
    const uid = await runtime.createSession();
    await runtime.admit(uid, 'go', 'queue');
    await Promise.all([standStill(runtime, HOUR_MS), standStill(runtime, HOUR_MS)]);
    await runtime.engine.startTurn(uid, 1);
    await runtime.ended(uid, 1);
    expect(await repairsOf(runtime, uid)).toHaveLength(1);
  });
});

describe('a turn that waits for a person', () => {
  it('stands still without anybody being told', async () => {
    const { runtime, uid } = await interrupted(30 * HOUR_MS);
    const [id] = await openApprovals(runtime, uid, 1);
    await standStill(runtime, 90 * HOUR_MS);
    expect(await repairsOf(runtime, uid)).toHaveLength(1);
    await decide(runtime, uid, id as ApprovalId);
    await runtime.ended(uid, 1);
  });
});
