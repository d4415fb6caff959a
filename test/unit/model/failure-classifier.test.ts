import { describe, expect, it } from 'vitest';
import {
  classifyHttpFailure,
  classifyStreamError,
  classifyTransportError,
  type HttpAnswer,
} from '../../../src/model/failure-classifier.js';
import { CONTEXT } from './translation.js';

function answered(status: number, body: unknown = {}, headers: HttpAnswer['headers'] = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return classifyHttpFailure({ status, headers, body: text }, CONTEXT);
}

describe('the failure of an answer', () => {
  it.each([
    [401, { error: { type: 'authentication_error', message: 'Invalid key' } }, 'AUTH', false],
    [403, { error: { message: 'Not allowed' } }, 'AUTH', false],
    [
      400,
      { error: { code: 'context_length_exceeded', message: 'Too long' } },
      'CONTEXT_WINDOW_EXCEEDED',
      false,
    ],
    [
      400,
      { error: { message: "This model's maximum context length is 65536 tokens." } },
      'CONTEXT_WINDOW_EXCEEDED',
      false,
    ],
    [
      400,
      {
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 210000 tokens > 200000 maximum',
        },
      },
      'CONTEXT_WINDOW_EXCEEDED',
      false,
    ],
    [
      400,
      { error: { message: 'request exceeds the available context size' } },
      'CONTEXT_WINDOW_EXCEEDED',
      false,
    ],
    [400, { error: { type: 'invalid_request_error', message: 'bad tool' } }, 'INVALID_REQUEST', false],
    [404, { error: { message: 'no such model' } }, 'INVALID_REQUEST', false],
    [413, 'Payload too large', 'INVALID_REQUEST', false],
    [422, { detail: [{ loc: ['body', 'tools'], msg: 'wrong' }] }, 'INVALID_REQUEST', false],
    [302, '', 'INVALID_REQUEST', false],
    [402, { error: { message: 'Insufficient Balance' } }, 'QUOTA', false],
    [429, { error: { type: 'insufficient_quota', message: 'Pay' } }, 'QUOTA', false],
    [429, { error: { message: 'You exceeded your current quota, please check your plan' } }, 'QUOTA', false],
    [400, { error: { message: 'Your credit balance is too low' } }, 'QUOTA', false],
    [429, { error: { message: 'Slow down' } }, 'RATE_LIMIT', true],
    [408, '', 'SERVER', true],
    [409, '', 'SERVER', true],
    [500, { error: { message: 'oops' } }, 'SERVER', true],
    [502, '<html><body>Bad gateway</body></html>', 'SERVER', true],
    [503, '', 'SERVER', true],
    [529, { error: { type: 'overloaded_error', message: 'Overloaded' } }, 'SERVER', true],
    [400, { error: { type: 'overloaded_error', message: 'Overloaded' } }, 'SERVER', true],
    [400, { error: { message: 'Content Exists Risk' } }, 'CONTENT_FILTER', false],
    [400, { error: { code: 'content_filter', message: 'Filtered' } }, 'CONTENT_FILTER', false],
  ] as const)('of %i with %j is %s (retried: %s)', (status, body, code, retryable) => {
    expect(answered(status, body)).toMatchObject({ code, retryable, status });
  });

  it('takes a passing rate limit that is worded as a quota for a rate limit where it says when to come back', () => {
    const failure = answered(
      429,
      { error: { message: 'You exceeded your current quota' } },
      { 'retry-after': '3' },
    );
    expect(failure).toMatchObject({ code: 'RATE_LIMIT', retryable: true, retryAfterMs: 3000 });
  });

  it.each([
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:01:00 GMT' }, 60_000],
    [{ 'retry-after': 'Wed, 31 Dec 1969 00:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{}, undefined],
  ])('reads the wait of %j as %s ms', (headers, retryAfterMs) => {
    expect(answered(429, {}, headers).retryAfterMs).toBe(retryAfterMs);
  });

  it('lets x-should-retry decide whether to retry', () => {
    expect(answered(429, {}, { 'x-should-retry': 'false', 'retry-after': '1' })).toMatchObject({
      code: 'RATE_LIMIT',
      retryable: false,
    });
    expect(answered(400, {}, { 'x-should-retry': 'true' })).toMatchObject({
      code: 'INVALID_REQUEST',
      retryable: true,
    });
  });

  it("carries the provider's request id", () => {
    expect(answered(500, {}, { 'x-request-id': 'req_1' }).providerRequestId).toBe('req_1');
    expect(answered(500, {}, { 'request-id': 'req_2' }).providerRequestId).toBe('req_2');
    expect(answered(500, { request_id: 'req_3' }).providerRequestId).toBe('req_3');
  });

  it('keeps keys out of its message and the message short', () => {
    const failure = answered(401, { error: { message: `bad sk-secret-key ${'x'.repeat(2000)}` } });
    expect(failure.message).not.toContain('sk-secret-key');
    expect(failure.message).toContain('bad ***');
    expect(failure.message.length).toBeLessThan(600);
  });

  it('leaves out the refused input that a validation error repeats', () => {
    const failure = answered(422, { detail: [{ loc: ['body', 0], msg: 'wrong', input: 'the prompt' }] });
    expect(failure.message).toBe('local answered 422: body 0 wrong');
  });

  it('leaves out the page of a proxy', () => {
    expect(answered(502, '<html>secret</html>').message).toBe('local answered 502');
  });
});

describe('the failure of an error in the stream', () => {
  it.each([
    [{ error: { type: 'overloaded_error', message: 'Overloaded' } }, 'SERVER', true],
    [{ type: 'error', error: { type: 'api_error', message: 'oops' } }, 'SERVER', true],
    [{ error: { type: 'rate_limit_error', message: 'slow' } }, 'RATE_LIMIT', true],
    [{ error: { code: 429, message: 'slow' } }, 'RATE_LIMIT', true],
    [{ error: { code: 502, message: 'upstream' } }, 'SERVER', true],
    [{ error: { type: 'authentication_error', message: 'key' } }, 'AUTH', false],
    [{ error: { type: 'invalid_request_error', message: 'bad' } }, 'INVALID_REQUEST', false],
    [
      { error: { type: 'invalid_request_error', message: 'maximum context length' } },
      'CONTEXT_WINDOW_EXCEEDED',
      false,
    ],
    [{ error: { code: 'insufficient_quota', message: 'pay' } }, 'QUOTA', false],
    [{ error: { code: 'content_filter', message: 'no' } }, 'CONTENT_FILTER', false],
    [{ error: 'model runner crashed' }, 'SERVER', true],
    [{ error: { message: 'who knows' } }, 'SERVER', true],
  ] as const)('of %j is %s (retried: %s)', (error, code, retryable) => {
    expect(classifyStreamError(error, CONTEXT)).toMatchObject({ code, retryable });
  });
});

describe('the failure of a connection', () => {
  it.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'])(
    'of %s before the answer is TRANSPORT, which is retried',
    (code) => {
      const error = Object.assign(new Error('x'), { code, syscall: 'connect' });
      expect(classifyTransportError(error, CONTEXT, false)).toMatchObject({
        code: 'TRANSPORT',
        retryable: true,
      });
    },
  );

  it('of a reset inside of the answer is TRANSPORT', () => {
    const error = Object.assign(new Error('x'), { code: 'ECONNRESET', syscall: 'read' });
    expect(classifyTransportError(error, CONTEXT, true)).toMatchObject({ code: 'TRANSPORT' });
  });

  it('of an answer that ends early is STREAM_CLOSED', () => {
    const error = Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    expect(classifyTransportError(error, CONTEXT, true)).toMatchObject({
      code: 'STREAM_CLOSED',
      retryable: true,
    });
  });

  it('of something that is no HTTP is MALFORMED_RESPONSE', () => {
    const error = Object.assign(new Error('x'), { code: 'HPE_INVALID_CONSTANT' });
    expect(classifyTransportError(error, CONTEXT, false)).toMatchObject({ code: 'MALFORMED_RESPONSE' });
  });
});
