import { describe, expect, it } from 'vitest';
import { explainTurn, type KnownCondition } from '../../../../src/runtime/doctor/explain-turn.js';
import { LogBuilder } from '../../../support/log-builder.js';

const UPDATED = '2026-01-01T00:00:00.000Z';
const NOW = Date.parse('2026-01-01T02:30:00.000Z');
const AT_WORK: KnownCondition = { kind: 'running', failedTasks: 0, activities: [] };

function explain(log: LogBuilder, condition: KnownCondition = AT_WORK, isServed = true) {
  return explainTurn({ state: log.state, condition, updatedAt: UPDATED, isServed, now: NOW });
}
function entered(): LogBuilder {
  const log = new LogBuilder();
  log.prompt();
  return log.enter();
}

describe('an open turn is explained', () => {
  it('where no server runs', () => {
    expect(explain(entered(), null, false)).toEqual({
      kind: 'stuck',
      text: `waits for a server since ${UPDATED} (2 h 30 min): none runs. "turnkeeper serve" starts one`,
    });
  });

  it('where this build cannot replay it', () => {
    const explanation = explain(entered(), { kind: 'running', failedTasks: 3, activities: [] });
    expect(explanation.kind).toBe('stuck');
    expect(explanation.text).toContain('failed 3 times');
    expect(explain(entered(), { kind: 'running', failedTasks: 2, activities: [] }).kind).toBe('works');
  });

  it('where it waits for people', () => {
    const log = entered().message(['bash', 'bash']);
    const id = log.ask(0);
    log.ask(1);
    const explanation = explain(log);
    expect(explanation.kind).toBe('waits');
    expect(explanation.text).toContain(`waits for approval ${id} and 1 more since`);
    const asked = entered().message(['ask_user_question']);
    asked.question(0);
    expect(explain(asked).text).toContain('an answer to question');
  });

  it('where its workflow is not there, or ended', () => {
    expect(explain(entered(), { kind: 'missing' }).text).toContain('the server starts it');
    expect(explain(entered(), { kind: 'closed', status: 'terminated' }).text).toContain('is terminated');
  });

  it('where it was not entered, and where it calls its model', () => {
    const log = new LogBuilder();
    log.prompt();
    expect(explain(log).text).toContain('was not entered yet');
    const activities = [
      { activityId: '1', type: 'callModel', state: 'started', attempt: 1, workerIdentity: 'worker-7' },
    ] as const;
    expect(explain(entered(), { kind: 'running', failedTasks: 0, activities }).text).toBe(
      `calls its model in step 1, since ${UPDATED} (2 h 30 min), on worker worker-7`,
    );
  });

  it('where tools run, and where nothing is known of the engine', () => {
    const log = entered().message(['bash']);
    expect(explain(log).text).toContain('is in step 1');
    expect(explain(log, null).text).toContain('is in step 1');
  });
});
