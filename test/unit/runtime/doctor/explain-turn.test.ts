import { describe, expect, it } from 'vitest';
import { explainTurn, type TurnToExplain } from '../../../../src/runtime/doctor/explain-turn.js';
import type { PendingActivity } from '../../../../src/contract/turn-engine.js';
import { LogBuilder } from '../../../support/log-builder.js';

const UPDATED = '2026-01-01T00:00:00.000Z';
const NOW = Date.parse('2026-01-01T02:30:00.000Z');
const SINCE = `since ${UPDATED} (2 h 30 min)`;

function explain(log: LogBuilder, facts: Partial<TurnToExplain> = {}) {
  return explainTurn({
    state: log.state,
    damage: null,
    condition: atWork(),
    receipts: log.events.flatMap((event) => (event.type === 'tool/started' ? [event.data] : [])),
    updatedAt: UPDATED,
    isServed: true,
    now: NOW,
    ...facts,
  });
}

function atWork(...activities: Partial<PendingActivity>[]): TurnToExplain['condition'] {
  return {
    kind: 'running',
    failedTasks: 0,
    activities: activities.map((activity) => ({
      activityId: '1',
      type: 'callModel',
      state: 'started',
      attempt: 1,
      ...activity,
    })),
  };
}

function entered(): LogBuilder {
  const log = new LogBuilder();
  log.prompt();
  return log.enter();
}

describe('an open turn is explained', () => {
  it('where no server runs', () => {
    expect(explain(entered(), { condition: null, isServed: false })).toEqual({
      kind: 'stuck',
      text: `waits for a server ${SINCE}: none runs. "turnkeeper serve" starts one`,
    });
  });

  it('where the engine does not answer', () => {
    expect(explain(entered(), { condition: null })).toEqual({
      kind: 'stuck',
      text: 'waits for the engine, which does not answer',
    });
  });

  it('where its log is damaged, or the list is wrong', () => {
    const damaged = explain(entered(), { damage: 'event 7 is missing' });
    expect(damaged.kind).toBe('stuck');
    expect(damaged.text).toBe(
      'cannot go on: event 7 is missing. Stop the server and run "turnkeeper doctor --repair"',
    );
    expect(explain(entered().message().end()).text).toContain('open in the list and over in the log');
  });

  it('where this build cannot replay it', () => {
    const failing = (failedTasks: number) =>
      explain(entered(), { condition: { kind: 'running', failedTasks, activities: [] } });
    expect(failing(3).kind).toBe('stuck');
    expect(failing(3).text).toContain('failed 3 times');
    expect(failing(2).kind).toBe('works');
  });

  it('where it waits for people, also while its workflow is lost or the engine away', () => {
    const log = entered().message(['bash', 'bash']);
    const id = log.ask(0);
    log.ask(1);
    const since = log.events.find(({ type }) => type === 'approval/asked')?.at ?? '';
    const text = `waits for approval ${id} and 1 more since ${since}`;
    expect(explain(log)).toEqual({ kind: 'waits', text });
    expect(explain(log, { condition: null })).toEqual({ kind: 'waits', text });
    expect(explain(log, { condition: { kind: 'missing' } }).text).toBe(
      `${text}; it has no workflow: the server starts it in a moment`,
    );
    const asked = entered().message(['ask_user_question']);
    const question = asked.question(0);
    expect(explain(asked).text).toContain(`waits for an answer to question ${question} since`);
  });

  it('where its workflow is not there, or ended', () => {
    expect(explain(entered(), { condition: { kind: 'missing' } }).text).toContain('the server starts it');
    expect(explain(entered(), { condition: { kind: 'closed', status: 'terminated' } }).text).toContain(
      'is terminated: the server starts a fresh run',
    );
  });

  it('where it was not entered, is cancelled, or calls its model', () => {
    const log = new LogBuilder();
    log.prompt();
    expect(explain(log).text).toBe(`was not entered yet ${SINCE}`);
    expect(explain(entered().cancel()).text).toBe(`is being cancelled ${SINCE}`);
    const condition = atWork({ workerIdentity: 'worker-7' });
    expect(explain(entered(), { condition })).toEqual({
      kind: 'works',
      text: `calls its model in step 1, ${SINCE}, on worker worker-7`,
    });
  });

  it('where its model call is tried again later, and where that time has come', () => {
    const log = entered().failedAttempt().retry();
    expect(explain(log)).toEqual({
      kind: 'waits',
      text: 'tries its model call again at 2026-01-02T00:00:00.000Z (503 SERVER from demo), attempt 2, in step 1',
    });
    expect(explain(log, { now: Date.parse('2026-01-03T00:00:00.000Z') }).text).toContain('calls its model');
  });

  it('where an activity is tried again, or nobody takes it', () => {
    const again = atWork({
      state: 'scheduled',
      attempt: 5,
      lastFailure: 'StoreUnavailable',
      nextAttemptAt: '2026-01-01T02:30:01.000Z',
    });
    expect(explain(entered(), { condition: again })).toEqual({
      kind: 'waits',
      text: 'tries callModel again at 2026-01-01T02:30:01.000Z (StoreUnavailable, attempt 5), in step 1',
    });
    const untaken = atWork({ state: 'scheduled', nextAttemptAt: '2026-01-01T02:29:00.000Z' });
    expect(explain(entered(), { condition: untaken })).toEqual({
      kind: 'waits',
      text: 'waits for a worker that takes callModel, for 1 min, in step 1',
    });
  });

  it('where tools run, with where a command has its process', () => {
    const log = entered().message(['bash', 'read']);
    expect(explain(log).text).toBe(`is in step 1, ${SINCE}`);
    log.start(0).start(1).receipt(0);
    expect(explain(log)).toEqual({
      kind: 'works',
      text: `runs bash (on host host since ${UPDATED}, 2 h 30 min), read in step 1, ${SINCE}`,
    });
    const [receipt] = log.events.flatMap((event) => (event.type === 'tool/started' ? [event.data] : []));
    if (receipt === undefined) throw new Error('There is no receipt.');
    const text = explain(log, { receipts: [{ ...receipt, pid: 77 }] }).text;
    expect(text).toContain('bash (process 77 on host host');
  });
});
