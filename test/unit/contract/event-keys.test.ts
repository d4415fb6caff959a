import { describe, expect, it } from 'vitest';
import { eventKeys } from '../../../src/contract/event-keys.js';
import type { ApprovalId, ItemId, QuestionId, RequestId } from '../../../src/contract/ids.js';

const NUMBERS = [1, 2, 11, 12, 112];
const NAMES = ['a', 'b', '1', '1.1', '1.1/next-turn'];

/** The key of every cause out of these numbers and names, made by each kind of key. */
function everyKey(): string[] {
  const keys: string[] = [eventKeys.sessionCreated()];
  for (const name of NAMES) {
    keys.push(
      eventKeys.prompt(name as RequestId),
      eventKeys.approvalDecided(name as ApprovalId),
      eventKeys.questionAnswered(name as QuestionId),
    );
    for (const n of NUMBERS) keys.push(eventKeys.item(name as ItemId, n));
  }
  for (const turn of NUMBERS) {
    keys.push(eventKeys.turnStart(turn), eventKeys.turnEnd(turn), eventKeys.cancelRequested(turn));
    for (const step of NUMBERS) {
      keys.push(
        eventKeys.stepStart(turn, step),
        eventKeys.stepEnd(turn, step),
        eventKeys.claim(turn, step, 'next-turn'),
        eventKeys.claim(turn, step, 'next-step'),
        eventKeys.systemMessage(turn, step),
        eventKeys.requestHeader(turn, step),
        eventKeys.requestContext(turn, step),
        eventKeys.assistantMessage(turn, step),
      );
      for (const n of [0, ...NUMBERS]) {
        keys.push(
          eventKeys.userMessage(turn, step, n),
          eventKeys.assistantAttempt(turn, step, n),
          eventKeys.llmRetry(turn, step, n),
          eventKeys.toolCall(turn, step, n),
          eventKeys.toolResult(turn, step, n),
          eventKeys.approvalAsked(turn, step, n),
          eventKeys.questionAsked(turn, step, n),
          eventKeys.todoWrite(turn, step, n),
        );
        for (const attempt of NUMBERS) keys.push(eventKeys.toolStarted(turn, step, n, attempt));
      }
    }
  }
  return keys;
}

describe('the keys of events', () => {
  it('are different for different causes, whatever their numbers and names', () => {
    const keys = everyKey();
    const seen = new Set<string>();
    expect(keys.filter((key) => seen.size === seen.add(key).size)).toEqual([]);
  });

  it('are the same for the same cause', () => {
    expect(everyKey()).toEqual(everyKey());
  });

  it('are spelled as the catalogue says, which stored logs rely on', () => {
    expect(eventKeys.turnStart(3)).toBe('turn/3/start');
    expect(eventKeys.turnEnd(3)).toBe('turn/3/end');
    expect(eventKeys.stepStart(3, 2)).toBe('step/3.2/start');
    expect(eventKeys.stepEnd(3, 2)).toBe('step/3.2/end');
    expect(eventKeys.prompt('r' as RequestId)).toBe('prompt/r');
    expect(eventKeys.item('i' as ItemId, 2)).toBe('item/i/2');
    expect(eventKeys.userMessage(3, 2, 0)).toBe('user/3.2.0');
    expect(eventKeys.systemMessage(3, 2)).toBe('system/3.2');
    expect(eventKeys.requestHeader(3, 2)).toBe('header/3.2');
    expect(eventKeys.requestContext(3, 2)).toBe('context/3.2');
    expect(eventKeys.assistantMessage(3, 2)).toBe('message/3.2');
    expect(eventKeys.assistantAttempt(3, 2, 4)).toBe('attempt/3.2.4');
    expect(eventKeys.llmRetry(3, 2, 4)).toBe('retry/3.2.4');
    expect(eventKeys.toolCall(3, 2, 0)).toBe('call/3.2.0');
    expect(eventKeys.toolStarted(3, 2, 0, 4)).toBe('started/3.2.0.4');
    expect(eventKeys.toolResult(3, 2, 0)).toBe('result/3.2.0');
    expect(eventKeys.approvalAsked(3, 2, 0)).toBe('asked/3.2.0');
    expect(eventKeys.approvalDecided('a' as ApprovalId)).toBe('decided/a');
    expect(eventKeys.questionAsked(3, 2, 0)).toBe('question/3.2.0');
    expect(eventKeys.questionAnswered('q' as QuestionId)).toBe('answered/q');
    expect(eventKeys.todoWrite(3, 2, 0)).toBe('todo/3.2.0');
  });
});
