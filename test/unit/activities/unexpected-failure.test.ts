import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { unexpectedFailure } from '../../../src/activities/activity-scope.js';
import { StoreError } from '../../../src/store/session-store.js';

describe('an error that an activity did not expect', () => {
  it('is tried again while the store is away', () => {
    expect(unexpectedFailure(new StoreError('STORE_UNAVAILABLE', 'disk full'))).toMatchObject({
      type: 'StoreUnavailable',
      nonRetryable: false,
    });
  });

  it('gives the attempt up where it was fenced or its session is gone', () => {
    for (const code of ['ATTEMPT_FENCED', 'SESSION_NOT_FOUND'] as const) {
      expect(unexpectedFailure(new StoreError(code, 'x'))).toMatchObject({ type: 'AttemptSuperseded' });
    }
  });

  it('is never tried again otherwise, and tells the engine a code and no text', () => {
    const secret = 'what the user wrote';
    for (const error of [new TypeError(secret), new StoreError('LOG_CORRUPT', secret), secret]) {
      const failure = unexpectedFailure(error) as ApplicationFailure;
      expect(failure.nonRetryable).toBe(true);
      expect(JSON.stringify(failure)).not.toContain(secret);
      expect(failure.message).not.toContain(secret);
    }
  });

  it('stays as it is where the activity meant it', () => {
    const meant = ApplicationFailure.nonRetryable('AUTH', 'ModelCallFailed');
    expect(unexpectedFailure(meant)).toBe(meant);
  });
});
