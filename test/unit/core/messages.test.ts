import { describe, expect, it } from 'vitest';
import type { SessionEvent, Surface } from '../../../src/contract/events.js';
import type { MessageId, SessionId } from '../../../src/contract/ids.js';
import { conversationOf, deriveMessages, EMPTY_MESSAGES, foldMessages } from '../../../src/core/messages.js';
import { LogBuilder, someRequest, someResult } from '../../support/log-builder.js';
import { checkMessages } from '../../support/log-invariants.js';
import { randomLog } from '../../support/random-log.js';
import { seededRandom } from '../model/seeded-random.js';

function user(seq: number, text: string, surface: Surface = 'append'): SessionEvent {
  return {
    sessionId: 's' as SessionId,
    seq,
    type: 'user/message',
    at: 'then',
    surface,
    data: {
      messageId: `m${String(seq)}` as MessageId,
      content: [{ type: 'text', text }],
      source: { kind: 'subagent' },
    },
  };
}

const textsOf = (events: readonly SessionEvent[]) =>
  deriveMessages(events).messages.map(({ content }) => (content[0]?.type === 'text' ? content[0].text : ''));

describe('the messages of a log', () => {
  it('are its surface events in their order, results as messages of the user', () => {
    const log = new LogBuilder();
    log.prompt('queue', 'Hello.');
    log
      .enter(someRequest({ context: 'Now.' }))
      .message(['read'])
      .start(0);
    log.commit(() => someResult('the file', { contexts: [[{ type: 'text', text: 'And this.' }]] }));
    log.advance();
    const { system, messages } = deriveMessages(log.events);
    expect(system).toBe('You help.');
    expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'user', 'user', 'user']);
    expect(messages[0]?.content).toEqual([{ type: 'text', text: 'Hello.' }]);
    expect(messages[1]?.content).toEqual([{ type: 'text', text: 'Now.' }]);
    const [, call] = messages[2]?.content ?? [];
    expect(call).toMatchObject({ type: 'tool-call', name: 'read' });
    expect(messages[3]?.content).toEqual([
      {
        type: 'tool-result',
        callId: call?.type === 'tool-call' ? call.callId : '',
        content: [{ type: 'text', text: 'the file' }],
        isError: false,
      },
    ]);
    expect(messages[4]?.content).toEqual([{ type: 'text', text: 'And this.' }]);
    for (const { seq } of messages) expect(log.events[seq]?.surface).toBe('append');
  });

  it('leave out attempts that were withdrawn, and all that is no message', () => {
    const log = new LogBuilder();
    log.prompt();
    log.enter().failedAttempt().retry().failedAttempt('lost').message().advance();
    expect(deriveMessages(log.events).messages.map(({ role }) => role)).toEqual([
      'user',
      'user',
      'assistant',
    ]);
  });

  it('have the system text that was assembled last, beside them', () => {
    const log = new LogBuilder();
    log.prompt();
    log
      .enter(someRequest({ system: 'First.' }))
      .message(['read'])
      .start(0)
      .commit();
    log.nextStep(someRequest({ system: 'Second.' }));
    expect(deriveMessages(log.events).system).toBe('Second.');
    expect(deriveMessages(log.events.slice(0, 3)).system).toBe('');
  });
});

describe('a replacement', () => {
  it('stands in the place of all messages from its first seq to its last, both inclusive', () => {
    const events = [user(0, 'a'), user(1, 'b'), user(2, 'c'), user(3, 'd')];
    expect(textsOf([...events, user(4, 'x', { replace: [1, 2] })])).toEqual(['a', 'x', 'd']);
    expect(textsOf([...events, user(4, 'x', { replace: [0, 3] })])).toEqual(['x']);
  });

  it('of one message leaves its neighbours', () => {
    expect(textsOf([user(0, 'a'), user(1, 'b'), user(2, 'x', { replace: [1, 1] })])).toEqual(['a', 'x']);
  });

  it('goes by seqs, also where not every seq is a message', () => {
    const events = [user(0, 'a'), user(5, 'b'), user(9, 'c')];
    expect(textsOf([...events, user(10, 'x', { replace: [3, 7] })])).toEqual(['a', 'x', 'c']);
  });

  it('of a range without messages enters where they would stand', () => {
    expect(textsOf([user(0, 'a'), user(9, 'c'), user(10, 'x', { replace: [3, 7] })])).toEqual([
      'a',
      'x',
      'c',
    ]);
    expect(textsOf([user(0, 'a'), user(10, 'x', { replace: [3, 7] })])).toEqual(['a', 'x']);
  });
});

describe('the fold', () => {
  it('of a prefix and then the rest equals that of the whole, for any log and any cut', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const { events } = randomLog(seededRandom(seed));
      const whole = foldMessages(events);
      expect(whole.headSeq).toBe(events.length - 1);
      let oneByOne = EMPTY_MESSAGES;
      for (const [cut, event] of events.entries()) {
        oneByOne = foldMessages([event], oneByOne);
        if (cut % 5 !== 0) continue;
        expect(foldMessages(events.slice(cut + 1), oneByOne), `seed ${String(seed)}`).toEqual(whole);
      }
      expect(oneByOne).toEqual(whole);
      expect(conversationOf(whole)).toEqual(deriveMessages(events));
    }
  });

  it('leaves the fold that it goes on from as it was', () => {
    const before = foldMessages([user(0, 'a'), user(1, 'b')]);
    const copy = structuredClone(before);
    foldMessages([user(2, 'c', { replace: [0, 1] }), user(3, 'd')], before);
    expect(before).toEqual(copy);
  });

  it('keeps its entries where nothing made a message, and still moves its head', () => {
    const before = foldMessages([user(0, 'a')]);
    const title: SessionEvent = {
      sessionId: 's' as SessionId,
      seq: 1,
      type: 'session/title',
      at: 'then',
      data: { title: 't', source: 'user' },
    };
    const after = foldMessages([title], before);
    expect(after.headSeq).toBe(1);
    expect(after.entries).toBe(before.entries);
  });
});

it('the messages of any finished log are what a strict provider takes', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const { events } = randomLog(seededRandom(seed));
    expect(checkMessages(deriveMessages(events).messages), `seed ${String(seed)}`).toEqual([]);
  }
});
