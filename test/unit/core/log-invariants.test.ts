/** The checker that other tests trust: that it takes every valid log, and misses no fault of its list. */
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../../src/contract/events.js';
import { LogBuilder, someResult } from '../../support/log-builder.js';
import { checkLog, checkMessages } from '../../support/log-invariants.js';
import { deriveMessages } from '../../../src/core/messages.js';
import { randomLog } from '../../support/random-log.js';
import { seededRandom } from '../model/seeded-random.js';

/** A log with one of everything: a retry, an approval, a question, a receipt, a steer, a second step and a queue. */
function fullLog(): LogBuilder {
  const log = new LogBuilder();
  log.prompt();
  log.enter().failedAttempt().retry().message(['read', 'bash']);
  const approval = log.ask(0);
  const question = log.question(1);
  log.prompt('steer');
  log.prompt('queue');
  log.decide(approval).answer(question).start(0).start(1).receipt(1);
  log.commit(() => someResult('x', { contexts: [[{ type: 'text', text: 'c' }]] }));
  log.nextStep().message().cancel().end({ kind: 'aborted', cause: 'user', by: 'ann' });
  return log.enter().message().end();
}

/** The log with one event changed, its seqs put right. */
function changed(
  events: readonly SessionEvent[],
  change: (event: SessionEvent, seq: number) => SessionEvent | SessionEvent[],
): SessionEvent[] {
  return events.flatMap(change).map((event, seq) => ({ ...event, seq }));
}

describe('a valid log', () => {
  it('has no violation', () => {
    expect(checkLog(fullLog().events)).toEqual([]);
    for (let seed = 1; seed <= 200; seed++) {
      expect(checkLog(randomLog(seededRandom(seed)).events), `seed ${String(seed)}`).toEqual([]);
    }
  });

  it('may end in a turn that runs, where the test allows it', () => {
    const { events } = randomLog(seededRandom(7));
    for (let length = 1; length < events.length; length++) {
      expect(checkLog(events.slice(0, length), { mayRun: true })).toEqual([]);
    }
    const turns = fullLog().events.filter(({ type }) => type === 'turn/start').length;
    expect(turns).toBe(2);
    const open = fullLog().events.slice(0, -1);
    expect(checkLog(open)).toEqual(['the end: turn 2 has no end']);
  });
});

describe('a log misses nothing that a turn needs', () => {
  const { events } = fullLog();
  const free = ['llm/retry', 'tool/started', 'request/header', 'request/context', 'system/message'];
  const context = (event: SessionEvent) => event.type === 'user/message' && event.data.source.kind !== 'user';
  const needed = events.filter((event) => {
    if (event.type === 'assistant/attempt') return false;
    // Without its cancel the turn was aborted by the engine alone, which may be.
    if (event.type === 'turn/cancel-requested') return false;
    return !free.includes(event.type) && !context(event);
  });
  it.each(needed.map((event) => [event.seq, event.type] as const))('event %i, %s', (gone) => {
    const rest = changed(events, (event, seq) => (seq === gone ? [] : event));
    expect(checkLog(rest).length).toBeGreaterThan(0);
  });
});

describe('a log has nothing twice', () => {
  const { events } = fullLog();
  const twice = events.filter((event) => {
    // These say again what stands, and change nothing.
    if (['request/header', 'request/context', 'system/message'].includes(event.type)) return false;
    return !(event.type === 'user/message' && event.data.source.kind !== 'user');
  });
  it.each(twice.map((event) => [event.seq, event.type] as const))('event %i, %s', (again) => {
    const rest = changed(events, (event, seq) => (seq === again ? [event, event] : event));
    expect(checkLog(rest).length).toBeGreaterThan(0);
  });
});

describe('the checker names', () => {
  const { events } = fullLog();
  const violations = (log: readonly SessionEvent[]) => checkLog(log).join('\n');
  const swapped = (first: string, second: string) => {
    const a = events.findIndex(({ type }) => type === first);
    const b = events.findIndex(({ type }, seq) => seq > a && type === second);
    return changed(events, (event, seq) => (seq === a ? events[b]! : seq === b ? events[a]! : event));
  };

  it('a hole in the seqs, a repeated one and a log without its beginning', () => {
    const holed = events.filter(({ seq }) => seq !== 3);
    expect(violations(holed)).toMatch(/^seq 4 .*: follows seq 2/);
    expect(violations(events.slice(1))).toMatch(/follows seq -1/);
    expect(violations(events.map((event) => ({ ...event, seq: Math.min(event.seq, 5) })))).toMatch(
      /follows seq 5/,
    );
  });

  it('an event of another session', () => {
    const other = changed(events, (event, seq) =>
      seq === 4 ? { ...event, sessionId: 'other' as typeof event.sessionId } : event,
    );
    expect(violations(other)).toMatch(/seq 4 .* another session/);
  });

  it('results that are not in the order of the model', () => {
    expect(violations(swapped('tool/result', 'tool/result'))).toMatch(/is not the next result/);
  });

  it('calls that are not in the order of the model, or come before their message', () => {
    expect(violations(swapped('tool/call', 'tool/call'))).toMatch(/is not the next call/);
    expect(violations(swapped('assistant/message', 'tool/call'))).toMatch(/is no call of the step/);
  });

  it('a receipt before its call, a result before its call', () => {
    const calls = events.filter(({ type }) => type === 'tool/call');
    const late = calls[1]!.seq;
    const receipt = events.findIndex(({ type }) => type === 'tool/started');
    const early = changed(events, (event, seq) =>
      seq === receipt ? [] : seq === late ? [events[receipt]!, event] : event,
    );
    expect(violations(early)).toMatch(/has not been called/);
    expect(violations(swapped('tool/call', 'tool/result'))).toMatch(/has not been called/);
  });

  it('an approval that is decided before it is asked, or asked after calls have begun', () => {
    expect(violations(swapped('approval/asked', 'approval/decided'))).toMatch(/was not asked/);
    expect(violations(swapped('question/asked', 'tool/call'))).toMatch(/after the first tool\/call/);
  });

  it('an event of a turn or a step that has ended', () => {
    const end = events.find(({ type }) => type === 'turn/end')!.seq;
    const late = changed(events, (event, seq) =>
      seq === end ? [event, events.find(({ type }) => type === 'tool/result')!] : event,
    );
    expect(violations(late)).toMatch(/is of turn 1, which is not open/);
    const stepEnd = events.find(({ type }) => type === 'step/end')!.seq;
    const title = events.find(({ type }) => type === 'request/context')!;
    const stray = changed(events, (event, seq) => (seq === stepEnd ? [event, title] : event));
    expect(violations(stray)).toMatch(/is of step 1, which is not open/);
  });

  it('a turn that was cancelled and did not end aborted, and sums that are wrong', () => {
    const withEnd = (data: object) =>
      changed(events, (event) =>
        event.type === 'turn/end' ? { ...event, data: { ...event.data, ...data } } : event,
      );
    expect(violations(withEnd({ reason: { kind: 'completed' } }))).toMatch(/cancelled and not aborted/);
    expect(violations(withEnd({ steps: 9 }))).toMatch(/counts 9 steps/);
    expect(violations(withEnd({ output: 'Other.' }))).toMatch(/wrong output/);
    const usage = { inputTokens: 1 };
    expect(violations(withEnd({ usage }))).toMatch(/wrong usage/);
  });

  it('input that was claimed from another list, or twice by one turn', () => {
    const other = changed(events, (event) =>
      event.type === 'agent/inbox/spliced' && event.data.outcome === 'claimed'
        ? { ...event, data: { ...event.data, target: 'next-step' as const } }
        : event,
    );
    expect(violations(other)).toMatch(/does not wait in next-step/);
    const log = new LogBuilder();
    const [first, second] = [log.prompt(), log.prompt()];
    log.append([
      { type: 'turn/start', turn: 1, data: { requestIds: [] } },
      {
        type: 'agent/inbox/spliced',
        turn: 1,
        data: { target: 'next-turn', start: 0, removed: [first, second], outcome: 'claimed' },
      },
    ]);
    expect(checkLog(log.events, { mayRun: true }).join()).toMatch(/claimed by a turn that has its prompt/);
  });
});

describe('the messages of a log', () => {
  const { messages } = deriveMessages(fullLog().events);
  const at = messages.findIndex(({ content }) => content[0]?.type === 'tool-result');

  it('are refused where a result is missing, late, out of order or without its call', () => {
    expect(checkMessages(messages)).toEqual([]);
    const [first, second] = [messages[at]!, messages[at + 1]!];
    const between = (some: typeof messages) => [...messages.slice(0, at), ...some, ...messages.slice(at + 2)];
    expect(checkMessages(between([first])).length).toBeGreaterThan(0);
    expect(checkMessages(between([second, first])).length).toBeGreaterThan(0);
    expect(checkMessages(between([first, messages[0]!, second])).length).toBeGreaterThan(0);
    expect(checkMessages([...messages, first]).length).toBeGreaterThan(0);
    expect(checkMessages(messages.slice(0, at)).length).toBeGreaterThan(0);
  });

  it('are refused where a call id is used twice', () => {
    const again = [...messages, ...messages.slice(at - 1, at + 2)];
    expect(checkMessages(again).join()).toMatch(/is used twice/);
  });
});
