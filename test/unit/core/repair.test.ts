import { describe, expect, it } from 'vitest';
import { deriveMessages } from '../../../src/core/messages.js';
import { repairEvents } from '../../../src/core/repair.js';
import { abortReason } from '../../../src/core/turn-progress.js';
import { inlineOutput, LogBuilder, sequentialIds, someResult } from '../../support/log-builder.js';
import { checkLog, checkMessages } from '../../support/log-invariants.js';
import { randomLog } from '../../support/random-log.js';
import { seededRandom } from '../model/seeded-random.js';

const repairOf = (log: LogBuilder) =>
  repairEvents(log.state, {
    note: 'The workflow is gone.',
    what: 'The log was cut.',
    output: log.state.openTurn === null ? null : inlineOutput(log.state.openTurn),
    planOf: () => ({ effect: 'effect', mode: 'exclusive' }),
    ids: sequentialIds(),
  });

const factsOf = (log: LogBuilder) =>
  repairOf(log).map((event) => {
    switch (event.type) {
      case 'tool/call':
        return `call ${String(event.data.index)}`;
      case 'tool/result':
        return `result ${event.data.error?.code ?? 'none'}`;
      case 'approval/decided':
      case 'question/answered':
        return `${event.type} ${event.data.outcome}`;
      case 'turn/end':
        return `end ${event.data.reason.kind}`;
      default:
        return event.type;
    }
  });

describe('a log that was cut in a turn', () => {
  it('is valid again after its repair, wherever it was cut, and the session goes on', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const whole = randomLog(seededRandom(seed));
      expect(checkLog(whole.events), `seed ${String(seed)}`).toEqual([]);
      for (let length = 1; length <= whole.events.length; length++) {
        const log = LogBuilder.from(whole.events.slice(0, length));
        log.append(repairOf(log));
        const where = `seed ${String(seed)}, cut before ${String(length)}`;
        expect(checkLog(log.events), where).toEqual([]);
        expect(checkMessages(deriveMessages(log.events).messages), where).toEqual([]);
        expect(repairOf(log), where).toEqual([]);

        if (log.state.openTurn === null) log.prompt();
        log.enter();
        if (log.turn.cancel === null) log.message(['read']).start(0).commit().advance().message().advance();
        else log.end(abortReason(log.turn.cancel));
        expect(checkLog(log.events, { mayRun: true }), where).toEqual([]);
        expect(checkMessages(deriveMessages(log.events).messages), where).toEqual([]);
      }
    }
  });

  it('gets for each dangling call the result that says what is known of it', () => {
    const log = new LogBuilder();
    log.prompt();
    log.enter().message(['read', 'bash', 'write', 'bash']);
    log
      .start(0)
      .receipt(0)
      .start(1)
      .receipt(1)
      .start(2)
      .commit(() => someResult(), 1);
    expect(factsOf(log)).toEqual([
      'call 3',
      'result TOOL_OUTCOME_UNKNOWN',
      'result TOOL_NOT_STARTED',
      'result TOOL_NOT_STARTED',
      'step/end',
      'end interrupted',
      'session/repaired',
    ]);
  });

  it('withdraws who was asked, after the results and before the end of the step', () => {
    const log = new LogBuilder();
    log.prompt();
    log.enter().message(['bash', 'ask_user_question']);
    log.ask(0);
    log.question(1);
    expect(factsOf(log)).toEqual([
      'call 0',
      'call 1',
      'result TOOL_NOT_STARTED',
      'result TOOL_NOT_STARTED',
      'approval/decided withdrawn',
      'question/answered withdrawn',
      'step/end',
      'end interrupted',
      'session/repaired',
    ]);
  });

  it('ends its turn aborted where the cancel stands in it', () => {
    const log = new LogBuilder();
    log.prompt();
    log.enter().message(['bash', 'read']).start(0).receipt(0).cancel('ann');
    const events = repairOf(log);
    expect(factsOf(log)).toEqual([
      'call 1',
      'result ABORTED',
      'result ABORTED_BEFORE_DISPATCH',
      'step/end',
      'end aborted',
      'session/repaired',
    ]);
    expect(events.find(({ type }) => type === 'turn/end')?.data).toMatchObject({
      reason: { kind: 'aborted', cause: 'user', by: 'ann' },
    });
  });

  it('says in the log what was repaired, how much was lost, why the turn ended and what the model said last', () => {
    const log = new LogBuilder();
    log.prompt();
    log.enter().message([], { content: [{ type: 'text', text: 'So far.' }] });
    const events = repairEvents(log.state, {
      note: 'The tail is damaged.',
      what: 'Cut at seq 9.',
      lost: 3,
      output: inlineOutput(log.turn),
      planOf: () => ({ effect: 'read', mode: 'parallel' }),
      ids: sequentialIds(),
    });
    expect(events.at(-2)?.data).toMatchObject({
      reason: { kind: 'interrupted', note: 'The tail is damaged.' },
      output: 'So far.',
      steps: 1,
    });
    expect(events.at(-1)).toMatchObject({ data: { what: 'Cut at seq 9.', lost: 3 } });
    expect(repairOf(log).at(-1)?.data).not.toHaveProperty('lost');
  });

  it('keeps the input that waits: it is due in the next turn', () => {
    const log = new LogBuilder();
    log.prompt('queue', 'First.');
    log.enter();
    log.prompt('queue', 'Second.');
    log.append(repairOf(log));
    expect(log.state.openTurn).toMatchObject({ number: 2, started: false });
    expect(log.state.inbox.nextTurn).toHaveLength(1);
  });
});

describe('nothing is repaired', () => {
  it('in an idle session', () => {
    expect(repairOf(new LogBuilder())).toEqual([]);
  });

  it('where a turn is only due: it is started later and loses nothing', () => {
    const log = new LogBuilder();
    log.prompt();
    expect(log.turn.started).toBe(false);
    expect(repairOf(log)).toEqual([]);
  });
});
