import { describe, expect, it } from 'vitest';
import { EVENT_SCHEMAS } from '../../../src/contract/events.js';
import { addUsage, ZERO_USAGE } from '../../../src/contract/usage.js';
import { foldState, INITIAL_STATE, sessionStatus } from '../../../src/core/session-state.js';
import { LogBuilder, NO_LIMITS, SOME_USAGE, someRequest, someResult } from '../../support/log-builder.js';
import { randomLog } from '../../support/random-log.js';
import { seededRandom } from '../model/seeded-random.js';

function idle(): LogBuilder {
  return new LogBuilder();
}
function entered(): LogBuilder {
  const log = idle();
  log.prompt();
  return log.enter();
}
const settingsOf = (log: LogBuilder) => log.state.settings;

describe('the session', () => {
  it('has the settings that it was created with, changed by later events and never cleared by them', () => {
    const log = idle();
    log.append([
      { type: 'session/settings', data: { changes: { model: 'large', provider: undefined }, by: 'ann' } },
      { type: 'approval/policy', data: { permission: 'read-only', source: 'ann' } },
      { type: 'session/settings', data: { changes: { provider: 'other' }, by: 'ann' } },
    ]);
    expect(settingsOf(log)).toEqual({
      workspace: '/workspace',
      profile: 'default',
      provider: 'other',
      model: 'large',
      permission: 'read-only',
    });
  });

  it('has the title that it got last', () => {
    const log = idle();
    expect(log.state.title).toBe('');
    log.append([
      { type: 'session/title', data: { title: 'One', source: 'model' } },
      { type: 'session/title', data: { title: 'Two', source: 'user' } },
    ]);
    expect(log.state.title).toBe('Two');
  });

  it('is changed by nothing but its head where an event says nothing about it', () => {
    const log = idle();
    const before = log.state;
    log.append([
      { type: 'session/forked', data: { from: 'other', seq: 3 } },
      { type: 'session/repaired', data: { what: 'the tail' } },
      { type: 'todo/write', data: { todos: [] } },
    ]);
    expect(log.state).toEqual({ ...before, headSeq: before.headSeq + 3 });
  });
});

describe('a turn', () => {
  it('is opened by the very event that stores a prompt, before it is entered', () => {
    const log = idle();
    log.prompt();
    expect(log.state.openTurn).toMatchObject({ number: 1, started: false, startedAt: log.events[1]?.at });
    log.enter();
    expect(log.state.openTurn).toMatchObject({
      number: 1,
      started: true,
      startedAt: log.events[2]?.at,
      requestIds: ['request-000001'],
    });
  });

  it('is opened by a steer and not by what is only injected', () => {
    const injected = idle();
    injected.prompt('inject');
    expect(injected.state.openTurn).toBeNull();
    injected.prompt('steer');
    expect(injected.state.openTurn?.number).toBe(1);
  });

  it('is not opened again by prompts that come while it is open', () => {
    const log = entered();
    log.prompt('queue');
    log.prompt('steer');
    expect(log.state.openTurn).toMatchObject({ number: 1, started: true });
  });

  it('is followed by the next where input waits that wakes, whatever it ended with', () => {
    const ends = [
      { kind: 'completed' },
      { kind: 'aborted', cause: 'user', by: 'ann' },
      { kind: 'blocked', hook: 'h', note: 'n' },
      { kind: 'error', code: 'SERVER', message: 'm' },
      { kind: 'max-tokens' },
      { kind: 'limit', which: 'steps', value: 1 },
      { kind: 'interrupted', note: 'n' },
    ] as const;
    for (const reason of ends) {
      const log = entered().message();
      log.prompt('queue', 'Next.');
      log.end(reason);
      expect(log.state, reason.kind).toMatchObject({
        lastTurn: 1,
        openTurn: { number: 2, started: false, startedAt: log.events.at(-1)?.at },
      });
    }
  });

  it('is followed by none where nothing waits, or only what wakes nobody', () => {
    const log = entered().message();
    log.prompt('inject');
    log.end();
    expect(log.state).toMatchObject({ lastTurn: 1, openTurn: null });
    expect(log.state.inbox.nextStep).toHaveLength(1);
  });

  it('keeps its first cancel', () => {
    const log = entered();
    const [turn] = [{ turn: 1 }];
    log.append([
      { type: 'turn/cancel-requested', ...turn, data: { by: 'ann', cause: 'user' } },
      { type: 'turn/cancel-requested', ...turn, data: { by: 'bob' } },
    ]);
    expect(log.turn.cancel).toEqual({ by: 'ann', cause: 'user' });
  });

  it('has the model that its prompt chose, the last one that did', () => {
    const log = idle();
    log.prompt('steer');
    const choose = (model: string | undefined, name: string) => {
      const requestId = `r-${name}` as never;
      log.append([
        {
          type: 'agent/inbox/spliced',
          data: {
            target: 'next-step',
            start: 9,
            inserted: [
              {
                itemId: name as never,
                requestId,
                content: [],
                source: { kind: 'user', requestId },
                wakes: true,
                model,
              },
            ],
          },
        },
      ]);
    };
    choose('small', 'a');
    choose('large', 'b');
    choose(undefined, 'c');
    expect(log.turn.choice).toEqual({});
    log.enter();
    expect(log.turn.choice.model).toBe('large');
    log.message().end();
    log.prompt();
    log.enter();
    expect(log.turn.choice.model).toBeUndefined();
  });

  it('counts its steps, and what was used in it and in the session, failed attempts included', () => {
    const log = entered().failedAttempt().failedAttempt('lost').message(['read']).start(0).commit();
    log.nextStep().message();
    const spent = addUsage(addUsage(SOME_USAGE, SOME_USAGE), SOME_USAGE);
    expect(log.turn).toMatchObject({ steps: 2, usage: spent });
    log.end();
    log.prompt();
    log.enter();
    expect(log.turn).toMatchObject({ steps: 1, usage: ZERO_USAGE });
    expect(log.state.usage).toEqual(spent);
  });

  it('has the text of its last message as its output, in its parts', () => {
    const log = entered().message(['read']).start(0).commit().nextStep();
    log.message([], {
      content: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
      ],
    });
    expect(log.turn.output).toEqual(['One.', 'Two.']);
  });
});

describe('a step', () => {
  it('counts its attempts, and those that the provider failed apart', () => {
    const log = entered().failedAttempt().failedAttempt('lost').failedAttempt();
    expect(log.place.step).toMatchObject({ lastAttempt: 3, failedAttempts: 2 });
    expect(log.place.step.failure).toMatchObject({ code: 'SERVER', status: 503 });
    expect(log.message().nextStep().place.step).toMatchObject({
      lastAttempt: 0,
      failedAttempts: 0,
      failure: null,
    });
  });

  it('waits from the retry on until the next attempt or message', () => {
    const log = entered().failedAttempt();
    expect(log.place.step.retryAt).toBeNull();
    log.retry();
    expect(log.place.step.retryAt).toBe('2026-01-02T00:00:00.000Z');
    log.failedAttempt();
    expect(log.place.step.retryAt).toBeNull();
    log.retry().message();
    expect(log.place.step.retryAt).toBeNull();
  });

  it('has the calls of its message, each with what the log has of it', () => {
    const log = entered().message(['read', 'bash']).start(0).receipt(0).receipt(0).start(1);
    log.commit(() => someResult(), 1);
    const seqs = (type: string) => log.events.filter((event) => event.type === type).map(({ seq }) => seq);
    expect(log.place.step.calls).toMatchObject([
      {
        index: 0,
        name: 'read',
        callSeq: seqs('tool/call')[0],
        startedAttempts: [1, 2],
        resultSeq: seqs('tool/result')[0],
      },
      { index: 1, name: 'bash', callSeq: seqs('tool/call')[1], startedAttempts: [], resultSeq: null },
    ]);
  });

  it('concludes its turn where a result says so', () => {
    const log = entered().message(['read']).start(0);
    log.commit(() => someResult('done', { meta: { concludesTurn: true } }));
    expect(log.place.step.concludesTurn).toBe(true);
    expect(log.advance(NO_LIMITS).state.openTurn).toBeNull();
  });

  it('counts its user messages, so that what comes later has keys of its own', () => {
    const log = entered().message(['read']).start(0);
    expect(log.place.step.userMessages).toBe(2);
    log.commit(() => someResult('x', { contexts: [[{ type: 'text', text: 'c' }]] }));
    expect(log.place.step.userMessages).toBe(3);
  });
});

describe('what a request said last', () => {
  it('is kept over turns: system text, context, header and window', () => {
    const log = idle();
    log.prompt();
    log
      .enter(someRequest({ system: 'S', context: 'C', contextWindow: 7 }))
      .message()
      .end();
    expect(log.state).toMatchObject({ system: { content: 'S' }, contextSnapshot: 'C', contextWindow: 7 });
    expect(log.state.header).toMatchObject({ provider: 'demo', reason: 'initial' });
    expect(log.events[log.state.system?.seq ?? 0]?.type).toBe('system/message');
  });
});

it('files are known by the version that a result observed last', () => {
  const log = entered().message(['read', 'read']).start(0).start(1);
  const observed = [
    [{ path: '/a', version: '1' }],
    [
      { path: '/a', version: '2' },
      { path: '/b', version: '1' },
    ],
  ];
  log.commit((index) => someResult('x', { meta: { observed: observed[index] } }));
  expect(log.end().state.observedFiles).toEqual({ '/a': '2', '/b': '1' });
});

describe('who is asked', () => {
  it('is open until it is decided or answered', () => {
    const log = entered().message(['bash', 'bash', 'ask']);
    const [first, second, question] = [log.ask(0), log.ask(1), log.question(2)];
    expect(log.state.approvals.map(({ approvalId }) => approvalId)).toEqual([first, second]);
    expect(log.state.questions).toEqual([question]);
    log.decide(first, 'denied');
    expect(log.state.approvals.map(({ approvalId }) => approvalId)).toEqual([second]);
    expect(log.decide(second).answer(question).state).toMatchObject({ approvals: [], questions: [] });
  });
});

describe('the status', () => {
  it('says what the session is doing, and a cancel before everything else', () => {
    const log = idle();
    const status = () => sessionStatus(log.state);
    expect(status()).toBe('idle');
    log.prompt();
    expect(status()).toBe('running');
    log.enter().failedAttempt().retry();
    expect(status()).toBe('retrying');
    log.message(['bash', 'ask']);
    expect(status()).toBe('running');
    const approval = log.ask(0);
    expect(status()).toBe('waiting-approval');
    const question = log.question(1);
    log.decide(approval);
    expect(status()).toBe('waiting-approval');
    log.answer(question);
    expect(status()).toBe('running');
    log.cancel();
    expect(status()).toBe('cancelling');
    log.end({ kind: 'aborted', cause: 'user', by: 'ann' });
    expect(status()).toBe('idle');
  });
});

describe('the fold', () => {
  const logs = Array.from({ length: 40 }, (_, seed) => randomLog(seededRandom(seed + 1)));

  it('meets every type of event in the logs of these tests', () => {
    const rare = ['session/forked', 'session/repaired'];
    const met = new Set(logs.flatMap(({ events }) => events.map(({ type }) => type)));
    for (const type of Object.keys(EVENT_SCHEMAS)) if (!rare.includes(type)) expect(met).toContain(type);
  });

  it('of a prefix and then the rest equals that of the whole, for any log and any cut', () => {
    for (const { events, state } of logs) {
      expect(foldState(events)).toEqual(state);
      for (let cut = 0; cut <= events.length; cut += 3) {
        expect(foldState(events.slice(cut), foldState(events.slice(0, cut)))).toEqual(state);
      }
    }
  });

  it('comes to the same over events that went through JSON', () => {
    for (const { events, state } of logs) {
      expect(foldState(JSON.parse(JSON.stringify(events)) as typeof events)).toEqual(state);
    }
  });

  it('leaves the state before as it was, and the initial one for ever', () => {
    for (const { events } of logs.slice(0, 5)) {
      let state = INITIAL_STATE;
      for (const event of events) {
        const copy = structuredClone(state);
        const next = foldState([event], state);
        expect(state).toEqual(copy);
        state = next;
      }
    }
    expect(INITIAL_STATE.headSeq).toBe(-1);
  });

  it('ends idle with nothing open after every finished log', () => {
    for (const { state } of logs) {
      expect(state).toMatchObject({ openTurn: null, approvals: [], questions: [] });
      expect(state.inbox.nextTurn).toEqual([]);
      expect(state.inbox.nextStep.filter(({ wakes }) => wakes)).toEqual([]);
    }
  });
});
