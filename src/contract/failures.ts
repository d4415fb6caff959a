/**
 * The closed lists of failure names. Errors are routed by these codes, never by their messages.
 */
import { z } from 'zod';

/** Why a model attempt failed (WIRES, section 4). */
export const modelFailureCodeSchema = z.enum([
  'AUTH',
  'MISSING_CREDENTIAL',
  'CONTEXT_WINDOW_EXCEEDED',
  'INVALID_REQUEST',
  'QUOTA',
  'RATE_LIMIT',
  'SERVER',
  'TRANSPORT',
  'TIMEOUT',
  'STREAM_CLOSED',
  'MALFORMED_RESPONSE',
  'EMPTY_RESPONSE',
  'CONTENT_FILTER',
]);
export type ModelFailureCode = z.infer<typeof modelFailureCodeSchema>;

/** Why a tool call has an error as its result. */
export const toolResultCodeSchema = z.enum([
  'UNKNOWN_TOOL',
  'INVALID_ARGS',
  'INVALID_TOOL_OUTPUT',
  'TOOL_TIMEOUT',
  'TOOL_ERROR',
  'DENIED',
  'APPROVAL_EXPIRED',
  'APPROVAL_UNAVAILABLE',
  'ABORTED',
  'ABORTED_BEFORE_DISPATCH',
  'TOOL_NOT_STARTED',
  'TOOL_OUTCOME_UNKNOWN',
  'FS_NOT_OBSERVED',
  'FS_STALE_VERSION',
  'FS_NOT_FOUND',
  'SANDBOX_UNAVAILABLE',
  'OUTSIDE_WORKSPACE',
]);
export type ToolResultCode = z.infer<typeof toolResultCodeSchema>;

/** The codes of problem details, each with its HTTP status. */
export const PROBLEM_STATUS = {
  INVALID_REQUEST: 400,
  INVALID_CURSOR: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  FORBIDDEN_ORIGIN: 403,
  FORBIDDEN_HOST: 403,
  WORKSPACE_NOT_ALLOWED: 403,
  PERMISSION_NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  SESSION_CONFLICT: 409,
  SESSION_CHANGED: 409,
  TURN_RUNNING: 409,
  ALREADY_CLAIMED: 409,
  APPROVAL_DECIDED: 409,
  APPROVAL_CLOSED: 409,
  LIMIT_REACHED: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  REQUEST_ID_REUSED: 422,
  FILE_DAMAGED: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  STORE_UNAVAILABLE: 503,
  DRAINING: 503,
} as const;
export type ProblemCode = keyof typeof PROBLEM_STATUS;

/** Thrown at the end of a switch over a closed union; unreachable where the types are right. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}
