import { describe, expect, it } from 'vitest';
import { isLiveFrame } from '../../../src/core/frames.js';
import { LogBuilder } from '../../support/log-builder.js';

function inStep(): LogBuilder {
  const log = new LogBuilder();
  log.prompt();
  return log.enter();
}
const ofModel = (attempt: number, turn = 1, step = 1) => ({ turn, step, attempt });
const ofCall = (call: number, attempt = 1) => ({ turn: 1, step: 1, attempt, call });

describe('a frame of the model is live', () => {
  it('while its attempt has neither a message nor a withdrawal', () => {
    const log = inStep();
    expect(isLiveFrame(log.state, ofModel(1))).toBe(true);
    log.message();
    expect(isLiveFrame(log.state, ofModel(1))).toBe(false);
  });

  it('not after its attempt was withdrawn, while the next one may run', () => {
    const log = inStep().failedAttempt();
    expect(isLiveFrame(log.state, ofModel(1))).toBe(false);
    expect(isLiveFrame(log.state, ofModel(2))).toBe(true);
    log.failedAttempt('lost');
    expect(isLiveFrame(log.state, ofModel(2))).toBe(false);
  });

  it('only in the open step of the open turn', () => {
    const log = inStep();
    expect(isLiveFrame(log.state, ofModel(1, 2))).toBe(false);
    expect(isLiveFrame(log.state, ofModel(1, 1, 2))).toBe(false);
    log.message(['read']).start(0).commit().nextStep();
    expect(isLiveFrame(log.state, ofModel(1))).toBe(false);
    expect(isLiveFrame(log.state, ofModel(1, 1, 2))).toBe(true);
    log.message().end();
    expect(isLiveFrame(log.state, ofModel(1, 1, 2))).toBe(false);
  });

  it('not in a turn that is only due', () => {
    const log = new LogBuilder();
    log.prompt();
    expect(isLiveFrame(log.state, ofModel(1))).toBe(false);
  });
});

describe('a frame of a call is live', () => {
  it('while the call has no result, whatever its siblings have', () => {
    const log = inStep().message(['read', 'bash']).start(0).start(1);
    expect(isLiveFrame(log.state, ofCall(0))).toBe(true);
    log.commit(undefined, 1);
    expect(isLiveFrame(log.state, ofCall(0))).toBe(false);
    expect(isLiveFrame(log.state, ofCall(1))).toBe(true);
  });

  it('not where the message has no such call', () => {
    const log = inStep();
    expect(isLiveFrame(log.state, ofCall(0))).toBe(false);
    log.message(['read']);
    expect(isLiveFrame(log.state, ofCall(1))).toBe(false);
  });
});
