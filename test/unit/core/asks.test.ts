import { describe, expect, it } from 'vitest';
import { approvalDecided, expireAsks, isOpen } from '../../../src/core/asks.js';
import type { EventData } from '../../../src/contract/events.js';
import type { CallAsk } from '../../../src/core/session-state.js';
import { LogBuilder } from '../../support/log-builder.js';

function asking(): LogBuilder {
  const log = new LogBuilder();
  log.prompt();
  return log.enter().message(['bash', 'bash', 'bash']);
}
const askOf = (log: LogBuilder, index: number): CallAsk | null =>
  log.state.openTurn?.step?.calls[index]?.ask ?? null;
const decided = (log: LogBuilder, data: Omit<EventData<'approval/decided'>, 'by'>) => {
  log.append([approvalDecided(log.state, { by: 'ann', ...data })]);
};

describe('an ask', () => {
  it('is open on its own call until its own answer stands', () => {
    const log = asking();
    const [first, second, question] = [log.ask(0), log.ask(1), log.question(2)];
    const open = () => [0, 1, 2].map((index) => isOpen(askOf(log, index) as CallAsk));
    expect(open()).toEqual([true, true, true]);
    log.decide(second, 'denied');
    expect(open()).toEqual([true, false, true]);
    expect(askOf(log, 1)).toMatchObject({ approvalId: second, decision: { outcome: 'denied' } });
    log.answer(question);
    log.decide(first);
    expect(open()).toEqual([false, false, false]);
    expect(askOf(log, 2)).toMatchObject({ answer: { answers: [{ id: 'q', selected: ['a'] }] } });
  });

  it('that is decided twice keeps the first decision', () => {
    const log = asking();
    const id = log.ask(0);
    log.decide(id, 'denied');
    log.decide(id, 'allowed');
    expect(askOf(log, 0)).toMatchObject({ decision: { outcome: 'denied' } });
    expect(log.state.grants).toEqual([]);
  });

  it('expires at its time and not before, and an answered one never', () => {
    const log = asking();
    const expiresAt = '2030-01-01T00:00:00.000Z';
    const ids = [log.ask(0, { expiresAt }), log.ask(1, { expiresAt }), log.ask(2)];
    log.decide(ids[1] as (typeof ids)[number]);
    expect(expireAsks(log.state, '2029-12-31T23:59:59.999Z')).toEqual([]);
    const events = expireAsks(log.state, expiresAt);
    expect(events.map(({ data }) => data)).toEqual([
      { approvalId: ids[0], outcome: 'expired', by: 'turnkeeper' },
    ]);
    log.append(events);
    expect(expireAsks(log.state, expiresAt)).toEqual([]);
  });
});

describe('a decision for the session', () => {
  it('is a grant of the very arguments, of the edited ones, or of a pattern', () => {
    const log = asking();
    const [one, two, three] = [
      log.ask(0, { arguments: '{"a":1}' }),
      log.ask(1, { arguments: '{"a":2}' }),
      log.ask(2),
    ];
    decided(log, { approvalId: one, outcome: 'allowed', scope: 'session' });
    decided(log, { approvalId: two, outcome: 'allowed', scope: 'session', arguments: { a: 3 } });
    decided(log, { approvalId: three, outcome: 'allowed', scope: 'session', match: { a: '*' } });
    const tool = log.state.openTurn?.step?.calls[0]?.name;
    expect(log.state.grants).toEqual([
      { tool, arguments: { a: 1 } },
      { tool, arguments: { a: 3 } },
      { tool, match: { a: '*' } },
    ]);
  });

  it('grants nothing where it denies, or is for once', () => {
    const log = asking();
    const [one, two] = [log.ask(0), log.ask(1)];
    decided(log, { approvalId: one, outcome: 'denied', scope: 'session' });
    decided(log, { approvalId: two, outcome: 'allowed', scope: 'once' });
    expect(log.state.grants).toEqual([]);
  });
});

describe('the time that a turn waits', () => {
  it('runs from the first open ask to the answer of the last', () => {
    const log = asking();
    const waiting = () => log.state.openTurn?.waitingSince ?? null;
    expect(waiting()).toBeNull();
    const one = log.ask(0);
    const since = waiting();
    expect(since).not.toBeNull();
    const two = log.ask(1);
    log.decide(one);
    expect(waiting()).toBe(since);
    log.decide(two);
    expect(waiting()).toBeNull();
    expect(log.state.openTurn?.waitedMs).toBe(
      Date.parse(log.events.at(-1)?.at ?? '') - Date.parse(since ?? ''),
    );
  });
});
