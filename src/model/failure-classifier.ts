/**
 * The one place where an answer, an error event or a socket error gets its failure code (WIRES 4).
 *
 * Codes come from the status and from the names that providers give their errors; their prose counts only where
 * providers say a thing in no other way (context length, quota, content filter).
 */
import type { ModelFailureCode } from '../contract/failures.js';
import type { Clock } from '../contract/ids.js';
import { errorDetails, type ErrorDetails } from './error-details.js';
import { ModelFailure } from './model-failure.js';
import { retryHints } from './retry-hints.js';

/** Whose failure it is, and which strings may not appear in it. */
export interface FailureContext {
  readonly provider: string;
  /** Key and header values to mask. */
  readonly secrets: readonly string[];
  readonly now: Clock;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const MAX_MESSAGE_CHARACTERS = 500;

const CONTEXT_LENGTH =
  /context[_ -]?(?:length|window|size|limit)|maximum context|prompt is too long|input is too long|too many (?:input |prompt )?tokens/i;
const CONTENT_FILTER = /content[_ ]?(?:filter|policy)|content exists risk|responsible ai|safety system/i;
const QUOTA_NAME = /insufficient_quota|insufficient_balance|insufficient_credits|billing|payment_required/i;
const QUOTA_WORDS =
  /exceeded your current quota|insufficient (?:account )?(?:balance|quota|credits?|funds)|credit balance|billing|payment required/i;

const CODE_BY_ERROR_NAME: Readonly<Record<string, ModelFailureCode>> = {
  authentication_error: 'AUTH',
  invalid_api_key: 'AUTH',
  permission_error: 'AUTH',
  permission_denied: 'AUTH',
  invalid_request_error: 'INVALID_REQUEST',
  not_found_error: 'INVALID_REQUEST',
  model_not_found: 'INVALID_REQUEST',
  request_too_large: 'INVALID_REQUEST',
  bad_request: 'INVALID_REQUEST',
  rate_limit_error: 'RATE_LIMIT',
  rate_limit_exceeded: 'RATE_LIMIT',
  too_many_requests: 'RATE_LIMIT',
};

/** The failure of an answer whose status is not 2xx. `x-should-retry` decides whether, `retryAfterMs` when. */
export function classifyHttpFailure(answer: HttpAnswer, context: FailureContext): ModelFailure {
  const details = errorDetails(answer.body);
  const hints = retryHints(answer.headers, context.now);
  const code = codeOf(details, answer.status, hints.retryAfterMs !== undefined);
  const said = details.message === '' ? '' : `: ${details.message}`;
  return failure(code, `${context.provider} answered ${String(answer.status)}${said}`, context, {
    status: answer.status,
    providerRequestId: providerRequestId(answer.headers) ?? details.requestId,
    retryAfterMs: hints.retryAfterMs,
    retryable: hints.shouldRetry,
  });
}

/** The failure of an error that came inside of a stream that began well; `error` is the parsed data of the event. */
export function classifyStreamError(error: unknown, context: FailureContext): ModelFailure {
  const details = errorDetails(error);
  const code = codeOf(details, details.status, false);
  const name = details.name === '' ? 'an error' : `the error ${details.name}`;
  const said = details.message === '' ? '' : `: ${details.message}`;
  return failure(code, `${context.provider} sent ${name} in the stream${said}`, context, {
    status: details.status,
    providerRequestId: details.requestId,
  });
}

/**
 * The failure of a connection.
 *
 * @param begun whether the answer had begun: its end before its time is then `STREAM_CLOSED`, all else is `TRANSPORT`.
 */
export function classifyTransportError(
  error: unknown,
  context: FailureContext,
  begun: boolean,
): ModelFailure {
  const code = propertyOf(error, 'code') ?? 'unknown error';
  // Node reports an answer that ends before its last chunk as ECONNRESET without a system call.
  const endedEarly = begun && propertyOf(error, 'syscall') === undefined && code === 'ECONNRESET';
  if (endedEarly) {
    return failure(
      'STREAM_CLOSED',
      `${context.provider} closed the connection inside of its answer`,
      context,
    );
  }
  if (code.startsWith('HPE_')) {
    return failure('MALFORMED_RESPONSE', `${context.provider} does not answer in HTTP (${code})`, context);
  }
  const when = begun ? 'was lost inside of its answer' : 'failed';
  return failure('TRANSPORT', `The connection to ${context.provider} ${when} (${code})`, context);
}

/** The provider's id of a request, by which its support finds it. */
export function providerRequestId(headers: HttpAnswer['headers']): string | undefined {
  const value = headers['x-request-id'] ?? headers['request-id'] ?? headers['x-ds-trace-id'];
  const id = Array.isArray(value) ? value[0] : value;
  return id === undefined || id === '' ? undefined : id.slice(0, 200);
}

function failure(
  code: ModelFailureCode,
  message: string,
  context: FailureContext,
  details: ConstructorParameters<typeof ModelFailure>[2] = {},
): ModelFailure {
  return new ModelFailure(code, bounded(masked(message, context.secrets)), details);
}

function codeOf(details: ErrorDetails, status: number | undefined, toldToWait: boolean): ModelFailureCode {
  const all = `${details.name} ${details.message}`;
  const refused = status === undefined || status === 400 || status === 413 || status === 422;
  if (refused && CONTEXT_LENGTH.test(all)) return 'CONTEXT_WINDOW_EXCEEDED';
  if (status === 402 || QUOTA_NAME.test(details.name)) return 'QUOTA';
  // Some providers word a passing rate limit as a quota; those say when to come back.
  const paid = status === undefined || status === 400 || status === 403 || status === 429;
  if (paid && !toldToWait && QUOTA_WORDS.test(details.message)) return 'QUOTA';
  if (refused && CONTENT_FILTER.test(all)) return 'CONTENT_FILTER';
  if (/overloaded/i.test(details.name)) return 'SERVER';
  return status === undefined ? codeOfName(details.name) : codeOfStatus(status);
}

function codeOfStatus(status: number): ModelFailureCode {
  if (status === 401 || status === 403) return 'AUTH';
  if (status === 429) return 'RATE_LIMIT';
  if (status === 408 || status === 409 || status >= 500) return 'SERVER';
  return 'INVALID_REQUEST';
}

function codeOfName(name: string): ModelFailureCode {
  const known = name.split(' ').find((part) => Object.hasOwn(CODE_BY_ERROR_NAME, part));
  return (known === undefined ? undefined : CODE_BY_ERROR_NAME[known]) ?? 'SERVER';
}

function masked(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= 4)
    .toSorted((a, b) => b.length - a.length)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

function bounded(text: string): string {
  return text.length <= MAX_MESSAGE_CHARACTERS ? text : `${text.slice(0, MAX_MESSAGE_CHARACTERS)}…`;
}

function propertyOf(error: unknown, key: string): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const value: unknown = Reflect.get(error, key);
  return typeof value === 'string' ? value : undefined;
}
