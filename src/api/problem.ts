/**
 * The one error of the API: a problem with a stable code, and how every other error becomes one.
 *
 * Owns what callers are told. Where it is logged and written is `error-handler.ts`.
 */
import type { z } from 'zod';
import { PROBLEM_STATUS, type ProblemCode } from '../contract/failures.js';
import type { Problem } from '../contract/http.js';
import { StoreError } from '../store/session-store.js';

const TITLES: Readonly<Record<ProblemCode, string>> = {
  INVALID_REQUEST: 'The request is not valid',
  INVALID_CURSOR: 'The cursor is not valid',
  UNAUTHENTICATED: 'A key is needed',
  FORBIDDEN: 'Not allowed',
  FORBIDDEN_ORIGIN: 'Requests of this origin are refused',
  FORBIDDEN_HOST: 'Requests to this host are refused',
  WORKSPACE_NOT_ALLOWED: 'The workspace is not allowed',
  PERMISSION_NOT_ALLOWED: 'The permission mode is not allowed',
  NOT_FOUND: 'Not found',
  METHOD_NOT_ALLOWED: 'The path has no such method',
  SESSION_CONFLICT: 'The session id is taken',
  SESSION_CHANGED: 'The session was changed',
  TURN_RUNNING: 'A turn is running',
  ALREADY_CLAIMED: 'The item was claimed already',
  APPROVAL_DECIDED: 'The approval was decided already',
  APPROVAL_CLOSED: 'The approval is closed',
  LIMIT_REACHED: 'A limit is reached',
  PAYLOAD_TOO_LARGE: 'The body is too large',
  UNSUPPORTED_MEDIA_TYPE: 'The content type is not supported',
  REQUEST_ID_REUSED: 'The request id was used with another body',
  FILE_DAMAGED: 'The file is damaged',
  RATE_LIMITED: 'Too many requests',
  INTERNAL: 'Something went wrong inside of Turnkeeper',
  STORE_UNAVAILABLE: 'The store is not available',
  DRAINING: 'The server is shutting down',
};

/**
 * A refusal that the caller is told as it stands; `field` is the path of the field that is to blame, `retryAfterSeconds`
 * when it is worth asking again.
 */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: number;

  constructor(
    readonly code: ProblemCode,
    detail: string,
    readonly field?: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(detail);
    this.status = PROBLEM_STATUS[code];
  }

  /** The body that is sent. */
  toProblem(): Problem {
    return {
      type: `urn:turnkeeper:problem:${this.code.toLowerCase().replaceAll('_', '-')}`,
      title: TITLES[this.code],
      status: this.status,
      code: this.code,
      detail: this.message,
      ...(this.field === undefined ? {} : { field: this.field }),
    };
  }
}

/** The problem that any thrown value amounts to. What is not meant for callers becomes `INTERNAL` without its message. */
export function problemOf(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof StoreError) return problemOfStoreError(error);
  const status = clientErrorStatus(error);
  if (status === undefined) return internal();
  // Express and its router mark what the caller did wrong, such as a path that does not decode.
  return new ProblemError('INVALID_REQUEST', 'The request could not be read.');
}

function problemOfStoreError(error: StoreError): ProblemError {
  switch (error.code) {
    case 'SESSION_NOT_FOUND':
      return new ProblemError('NOT_FOUND', 'There is no such session.');
    case 'SESSION_CONFLICT':
      return new ProblemError('SESSION_CONFLICT', 'A session of this id exists with other settings.', 'id');
    case 'STORE_UNAVAILABLE':
    case 'SCHEMA_TOO_NEW':
      return new ProblemError(
        'STORE_UNAVAILABLE',
        'The session log cannot be reached; nothing was stored. Try again later.',
      );
    case 'LOG_CORRUPT':
    case 'LOG_UNSUPPORTED':
      return new ProblemError(
        'INTERNAL',
        'The log of this session cannot be read; the server log says why, and the operator may mend it with ' +
          '"turnkeeper doctor --repair".',
      );
    default:
      return internal();
  }
}

function internal(): ProblemError {
  return new ProblemError('INTERNAL', 'An unexpected error; the server log has the details.');
}

function clientErrorStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined;
  const { status } = error;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

/** The problem of input that a schema refused: the first issue, with the path of its field. */
export function problemOfIssues(error: z.ZodError): ProblemError {
  const [issue] = error.issues;
  return issue === undefined
    ? new ProblemError('INVALID_REQUEST', 'The request is not valid.')
    : problemOfIssue(issue, []);
}

function problemOfIssue(issue: z.core.$ZodIssue, prefix: readonly PropertyKey[]): ProblemError {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const field = fieldOf([...path, issue.keys[0] ?? '']);
    return new ProblemError('INVALID_REQUEST', `Unknown field "${field}".`, field);
  }
  if (issue.code === 'invalid_union') {
    const closest = closestIssue(issue.errors);
    if (closest !== undefined) return problemOfIssue(closest, path);
  }
  const field = fieldOf(path);
  const message = lowerFirst(issue.message);
  return field === ''
    ? new ProblemError('INVALID_REQUEST', `The body: ${message}.`)
    : new ProblemError('INVALID_REQUEST', `"${field}": ${message}.`, field);
}

/** Of the alternatives of a union, the issue that lies deepest: the one that the caller most likely meant. */
function closestIssue(alternatives: readonly (readonly z.core.$ZodIssue[])[]): z.core.$ZodIssue | undefined {
  let closest: z.core.$ZodIssue | undefined;
  for (const [first] of alternatives) {
    if (first !== undefined && first.path.length > (closest?.path.length ?? 0)) closest = first;
  }
  return closest;
}

/** A path as callers write it: `content.0.text`. */
function fieldOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
