/** Reads what a request brings (body, query, path, headers) into checked values; what does not fit is a problem. */
import type { Request } from 'express';
import { z } from 'zod';
import { MAX_WAIT_SECONDS, PAGE_LIMIT } from '../contract/http.js';
import { requestIdSchema, type RequestId } from '../contract/ids.js';
import { ProblemError, problemOfIssues } from './problem.js';

/** The body as the schema has it. @throws `ProblemError` `INVALID_REQUEST` that names the field. */
export function parseBody<S extends z.ZodType>(schema: S, request: Request): z.output<S> {
  const result = schema.safeParse(request.body);
  if (!result.success) throw problemOfIssues(result.error);
  return result.data;
}

/** The body of a call that needs none: an absent one is empty. */
export function parseOptionalBody<S extends z.ZodType>(schema: S, request: Request): z.output<S> {
  const result = schema.safeParse(request.body ?? {});
  if (!result.success) throw problemOfIssues(result.error);
  return result.data;
}

/** The query as the shape has it; any other parameter is refused. */
export function parseQuery<S extends z.ZodRawShape>(
  request: Request,
  shape: S,
): z.output<z.ZodObject<S, z.core.$strict>> {
  const result = z.strictObject(shape).safeParse(request.query);
  if (result.success) return result.data;
  throw problemOfQuery(result.error);
}

/** Parameters that are cursors have their own code. */
const CURSOR_PARAMETERS = new Set(['after', 'before', 'cursor']);

function problemOfQuery(error: z.ZodError): ProblemError {
  const problem = problemOfIssues(error);
  const isCursor = problem.field !== undefined && CURSOR_PARAMETERS.has(problem.field);
  // A parameter that the route does not have is no cursor, whatever its name.
  return isCursor && error.issues[0]?.code !== 'unrecognized_keys'
    ? new ProblemError('INVALID_CURSOR', problem.message, problem.field)
    : problem;
}

function wholeNumber(minimum: number, maximum: number) {
  return z
    .string('must be given once')
    .regex(/^(-1|\d{1,16})$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().int().min(minimum).max(maximum));
}

/** Query parameters that several routes have. */
export const queryParameters = {
  limit: wholeNumber(1, PAGE_LIMIT.max).default(PAGE_LIMIT.default),
  /** A seq; -1 is before the first. */
  seq: wholeNumber(-1, Number.MAX_SAFE_INTEGER),
  ordinal: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  text: z.string('must be given once').min(1),
  /** Seconds. */
  wait: z
    .string('must be given once')
    .regex(/^\d{1,6}(\.\d{1,3})?$/, 'must be a number of seconds')
    .transform(Number)
    .pipe(z.number().min(0).max(MAX_WAIT_SECONDS)),
} as const;

/** A turn's number in a path. What is no number is no turn. @throws `ProblemError` `NOT_FOUND`. */
export function turnNumberOf(request: Request<{ turn: string }>): number {
  const turn = queryParameters.ordinal.safeParse(request.params.turn);
  if (!turn.success) throw new ProblemError('NOT_FOUND', 'There is no such turn.');
  return turn.data;
}

/** Seconds of `Prefer: wait=N` (RFC 7240); a preference may be shortened and what is not understood is left alone. */
export function preferredWait(request: Request): number | undefined {
  const match = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?\s*(?:$|[,;])/i.exec(request.get('prefer') ?? '');
  return match?.[1] === undefined ? undefined : Math.min(Number(match[1]), MAX_WAIT_SECONDS);
}

/** The caller's request id, from the body or from `Idempotency-Key`; undefined where neither is given. */
export function requestIdOf(request: Request, inBody: RequestId | undefined): RequestId | undefined {
  const header = request.get('idempotency-key');
  if (header === undefined) return inBody;
  const parsed = requestIdSchema.safeParse(header);
  if (!parsed.success) {
    throw new ProblemError(
      'INVALID_REQUEST',
      `"Idempotency-Key": ${parsed.error.issues[0]?.message ?? 'is not valid'}.`,
      'Idempotency-Key',
    );
  }
  if (inBody !== undefined && inBody !== parsed.data) {
    throw new ProblemError(
      'INVALID_REQUEST',
      'The body\'s "requestId" and the header "Idempotency-Key" differ; give one of them.',
      'requestId',
    );
  }
  return parsed.data;
}
