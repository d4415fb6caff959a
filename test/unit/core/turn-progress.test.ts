import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../../src/contract/events.js';
import {
  abandonedResult,
  abortReason,
  callEvent,
  commitResults,
  enterTurn,
  nextMove,
  startStep,
  stepEnd,
  turnEnd,
  unknownOutcome,
  type StepRequest,
} from '../../../src/core/turn-progress.js';
import {
  LogBuilder,
  NO_LIMITS,
  sequentialIds,
  type SOME_SHA256,
  SOME_USAGE,
  someRequest,
  someResult,
} from '../../support/log-builder.js';

function entered(): LogBuilder {
  const log = new LogBuilder();
  log.prompt();
  return log.enter();
}
const typesOf = (events: readonly NewEvent[]) => events.map(({ type }) => type);
const keysOf = (events: readonly NewEvent[]) => events.map(({ key }) => key);

/** The events of a second step with this request. */
const secondStep = (log: LogBuilder, request: StepRequest) =>
  startStep(log.state, { turn: 1, step: 2, entries: [] }, request, sequentialIds());

describe('entering a turn', () => {
  it('says that it starts and for whom, and then takes its input', () => {
    const log = new LogBuilder();
    log.prompt('queue');
    log.prompt('queue');
    log.prompt('steer');
    const { events, entries } = enterTurn(1, log.state.inbox);
    expect(keysOf(events)).toEqual(['turn/1/start', 'claim/1.1/next-step', 'claim/1.1/next-turn']);
    expect(events[0]?.data).toEqual({ requestIds: ['request-000003', 'request-000001'] });
    expect(entries.map(({ requestId }) => requestId)).toEqual(['request-000003', 'request-000001']);
  });
});

describe('starting a step', () => {
  it('writes the first request of a session in the order of the catalogue', () => {
    const log = new LogBuilder();
    log.prompt('queue', 'Hello.');
    const { entries } = enterTurn(1, log.state.inbox);
    const events = startStep(log.state, { turn: 1, step: 1, entries }, someRequest(), sequentialIds());
    expect(typesOf(events)).toEqual([
      'step/start',
      'system/message',
      'user/message',
      'user/message',
      'request/header',
      'request/context',
    ]);
    expect(keysOf(events)).toEqual([
      'step/1.1/start',
      'system/1.1',
      'user/1.1.0',
      'user/1.1.1',
      'header/1.1',
      'context/1.1',
    ]);
    for (const event of events) expect(event).toMatchObject({ turn: 1, step: 1 });
    expect(events[1]).toMatchObject({ surface: 'append', data: { content: 'You help.' } });
    expect(events[2]).toMatchObject({ surface: 'append', data: { content: [{ text: 'Hello.' }] } });
    expect(events[3]).toMatchObject({ data: { source: { kind: 'context', form: 'snapshot' } } });
    expect(events[4]).toMatchObject({ data: { reason: 'initial' } });
  });

  it('says nothing again that stands as it was', () => {
    expect(typesOf(secondStep(entered(), someRequest()))).toEqual(['step/start']);
  });

  it('replaces the system text where it changed, in its place', () => {
    const log = entered();
    const events = secondStep(log, someRequest({ system: 'You help more.' }));
    const seq = log.state.system?.seq;
    expect(typesOf(events)).toEqual(['step/start', 'system/message']);
    expect(events[1]).toMatchObject({
      surface: { replace: [seq, seq] },
      data: { content: 'You help more.' },
    });
  });

  it('shows the runtime context where it changed, after the input', () => {
    const log = entered();
    log.prompt('steer', 'Faster.');
    const { nextStep } = log.state.inbox;
    const place = { turn: 1, step: 2, entries: nextStep };
    const events = startStep(log.state, place, someRequest({ context: 'It is Tuesday.' }), sequentialIds());
    expect(typesOf(events)).toEqual(['step/start', 'user/message', 'user/message']);
    expect(events[1]).toMatchObject({ data: { source: { kind: 'user' } } });
    expect(events[2]).toMatchObject({ data: { content: [{ text: 'It is Tuesday.' }] } });
  });

  it('writes the window only where it changed', () => {
    const events = secondStep(entered(), someRequest({ contextWindow: 64_000 }));
    expect(typesOf(events)).toEqual(['step/start', 'request/context']);
  });

  const { header } = someRequest();
  const changes: [string, Partial<typeof header>][] = [
    ['the provider', { provider: 'other' }],
    ['the model', { model: 'other' }],
    ['the wire', { wire: 'messages' }],
    ['a parameter', { parameters: { temperature: 0 } }],
    ['a default of the adapter', { adapterDefaults: { max_tokens: 1 } }],
    ['the tools', { tools: [] }],
    ["a tool's definition", { tools: [{ name: 'read', sha256: 'cd'.repeat(32) as typeof SOME_SHA256 }] }],
  ];
  it.each(changes)('writes the header again where %s changed', (_what, change) => {
    const events = secondStep(entered(), someRequest({ header: { ...header, ...change } }));
    expect(typesOf(events)).toEqual(['step/start', 'request/header']);
    expect(events[1]).toMatchObject({ data: { ...change, reason: 'change' } });
  });

  it('writes no header for another order of the same parameters, nor for one that is undefined', () => {
    const log = new LogBuilder();
    log.prompt();
    log.enter(someRequest({ header: { ...header, parameters: { temperature: 1, maxTokens: 9 } } }));
    const same = { maxTokens: 9, temperature: 1, reasoningEffort: undefined };
    expect(typesOf(secondStep(log, someRequest({ header: { ...header, parameters: same } })))).toEqual([
      'step/start',
    ]);
  });
});

describe('committing results', () => {
  it('keeps the order of the model, whatever finished first, and adds contexts after all of them', () => {
    const log = entered().message(['a', 'b', 'c']).start(0).start(1).start(2);
    const context = (text: string) => [{ type: 'text', text } as const];
    const contexts = [[context('0a'), context('0b')], [], [context('2a')]];
    const events = commitResults(
      log.place,
      ({ index }) => someResult(`r${String(index)}`, { contexts: contexts[index] ?? [] }),
      sequentialIds(),
    );
    expect(keysOf(events)).toEqual([
      'result/1.1.0',
      'result/1.1.1',
      'result/1.1.2',
      'user/1.1.2',
      'user/1.1.3',
      'user/1.1.4',
    ]);
    const { calls } = log.place.step;
    for (const call of calls) {
      expect(events[call.index]).toMatchObject({
        surface: 'append',
        sources: [call.callSeq],
        data: { callId: call.callId, content: [{ text: `r${String(call.index)}` }] },
      });
    }
    expect(events.slice(3).map(({ data }) => data)).toMatchObject([
      { content: [{ text: '0a' }], source: { kind: 'tool-context', callId: calls[0]?.callId } },
      { content: [{ text: '0b' }], source: { kind: 'tool-context', callId: calls[0]?.callId } },
      { content: [{ text: '2a' }], source: { kind: 'tool-context', callId: calls[2]?.callId } },
    ]);
  });

  it('leaves out calls that have their result', () => {
    const log = entered().message(['a', 'b']).start(0).start(1);
    log.commit(() => someResult(), 1);
    expect(keysOf(commitResults(log.place, () => someResult(), sequentialIds()))).toEqual(['result/1.1.1']);
  });

  it('keeps error, meta and duration, and says nothing of them where there are none', () => {
    const log = entered().message(['a']).start(0);
    const result = {
      isError: true,
      error: { name: 'E', code: 'TOOL_ERROR' },
      meta: { z: 1, a: [2] },
      durationMs: 7,
    } as const;
    const [full] = commitResults(log.place, () => someResult('x', result), sequentialIds());
    expect(full?.data).toMatchObject(result);
    const [bare] = commitResults(log.place, () => someResult(), sequentialIds());
    expect(Object.keys(bare?.data ?? {}).sort()).toEqual(['callId', 'content', 'durationMs', 'isError']);
  });
});

describe('a call that was abandoned', () => {
  const log = entered().message(['a', 'b', 'c']).start(0).receipt(0).start(1);
  const [withReceipt, started, silent] = log.place.step.calls;
  const codes: [string, typeof silent, boolean, string][] = [
    ['had a receipt, in a turn that ended', withReceipt, false, 'TOOL_OUTCOME_UNKNOWN'],
    ['had no receipt, in a turn that ended', started, false, 'TOOL_NOT_STARTED'],
    ['had not started, in a turn that ended', silent, false, 'TOOL_NOT_STARTED'],
    ['had a receipt, in a turn that was aborted', withReceipt, true, 'ABORTED'],
    ['had started, in a turn that was aborted', started, true, 'ABORTED'],
    ['had not started, in a turn that was aborted', silent, true, 'ABORTED_BEFORE_DISPATCH'],
  ];
  it.each(codes)('that %s', (_what, call, aborted, code) => {
    const result = abandonedResult(call!, aborted);
    expect(result).toMatchObject({ isError: true, error: { code }, contexts: [] });
    expect(result.content[0]).toMatchObject({
      type: 'text',
      text: expect.stringMatching(/^(TOOL_OUTCOME_UNKNOWN: t|T)he .*\.$/s) as unknown,
    });
  });

  it('has an unknown outcome that tells the model to check', () => {
    const [text] = unknownOutcome().content;
    expect(text).toMatchObject({ text: expect.stringContaining('Check what it did') as unknown });
  });
});

describe('the next move', () => {
  const answered = (tools: string[]) => {
    const log = entered().message(tools);
    for (const index of tools.keys()) log.start(index);
    return log.commit();
  };
  const moveOf = (log: LogBuilder, limits = NO_LIMITS) => nextMove(log.state, log.place, limits);
  const end = (reason: object) => ({ kind: 'end', reason });

  it('is another step while the model asks for calls', () => {
    expect(moveOf(answered(['read']))).toEqual({ kind: 'step' });
  });

  it('is the end where the model asks for nothing', () => {
    expect(moveOf(answered([]))).toEqual(end({ kind: 'completed' }));
  });

  it('is another step for input that waits for one, steered or injected, and not for the queue', () => {
    for (const mode of ['steer', 'inject'] as const) {
      const log = answered([]);
      log.prompt(mode);
      expect(moveOf(log)).toEqual({ kind: 'step' });
    }
    const log = answered([]);
    log.prompt('queue');
    expect(moveOf(log)).toEqual(end({ kind: 'completed' }));
  });

  it('is the end where a result concludes the turn, unless input waits', () => {
    const log = entered().message(['read']).start(0);
    log.commit(() => someResult('x', { meta: { concludesTurn: true } }));
    expect(moveOf(log)).toEqual(end({ kind: 'completed' }));
    log.prompt('steer');
    expect(moveOf(log)).toEqual({ kind: 'step' });
  });

  it('is the end where the answer was cut by the token limit, also with input that waits', () => {
    const log = entered().message([], { finish: 'max-tokens' });
    log.prompt('steer');
    expect(moveOf(log)).toEqual(end({ kind: 'max-tokens' }));
  });

  it('is the end where a limit leaves no room, which a turn that is done does not meet', () => {
    const log = answered(['read']);
    const limit = (which: string, value: number) => end({ kind: 'limit', which, value });
    expect(moveOf(log, { ...NO_LIMITS, steps: 1 })).toEqual(limit('steps', 1));
    expect(moveOf(log, { ...NO_LIMITS, steps: 2 })).toEqual({ kind: 'step' });
    expect(moveOf(log, { ...NO_LIMITS, tokens: 20 })).toEqual(limit('tokens', 20));
    expect(moveOf(log, { ...NO_LIMITS, tokens: 1000 })).toEqual({ kind: 'step' });
    expect(moveOf(log, { ...NO_LIMITS, costUsd: 0.2 })).toEqual(limit('cost', 0.2));
    expect(moveOf(log, { ...NO_LIMITS, costUsd: 100 })).toEqual({ kind: 'step' });
    const strict = { steps: 1, wallTimeMs: null, tokens: 1, costUsd: 0.01 };
    expect(moveOf(answered([]), strict)).toEqual(end({ kind: 'completed' }));
  });
});

describe('the ends', () => {
  it('of a step says what comes next', () => {
    expect(stepEnd(2, 3, 'step')).toEqual({
      type: 'step/end',
      key: 'step/2.3/end',
      turn: 2,
      step: 3,
      data: { next: 'step' },
    });
  });

  it('of a turn has its sums, and its output where there is one', () => {
    const { turn } = entered().message();
    const event = turnEnd(turn, { kind: 'completed' }, 'Done.');
    expect(event).toMatchObject({ key: 'turn/1/end', turn: 1 });
    expect(event.data).toEqual({
      reason: { kind: 'completed' },
      output: 'Done.',
      usage: SOME_USAGE,
      steps: 1,
    });
    expect(turnEnd(turn, { kind: 'completed' }, null).data).not.toHaveProperty('output');
    expect(turnEnd(turn, { kind: 'completed' }, '').data).toHaveProperty('output', '');
  });

  it('of a cancelled turn names who cancelled it and why', () => {
    const by = 'ann';
    expect(abortReason({ by, cause: 'operator' })).toEqual({ kind: 'aborted', cause: 'operator', by });
    expect(abortReason({ by, cause: 'tired of it' })).toEqual({ kind: 'aborted', cause: 'user', by });
    expect(abortReason({ by })).toEqual({ kind: 'aborted', cause: 'user', by });
    expect(abortReason(null)).toEqual({ kind: 'aborted', cause: 'operator', by: 'engine' });
  });

  it('never name a call that was not in the message', () => {
    const log = entered().message(['read']);
    const [call] = log.place.step.calls;
    const event = callEvent(log.place, call!, { effect: 'read', mode: 'parallel' });
    expect(event).toMatchObject({
      key: 'call/1.1.0',
      data: { callId: call?.callId, index: 0, name: 'read', arguments: '{"path": "a"}', mode: 'parallel' },
    });
  });
});
