/**
 * The problems of each operation, for the API's description: those that every call of its kind may be answered with, and
 * those that the operation names itself.
 *
 * Owns no code; those are in `contract/failures.ts`.
 */
import { PROBLEM_STATUS, type ProblemCode } from '../contract/failures.js';
import { PROBLEM_CONTENT_TYPE } from './error-handler.js';
import { ref, type Json, type Operation } from './openapi-parts.js';

const OF_ALL: readonly ProblemCode[] = ['INVALID_REQUEST', 'FORBIDDEN_HOST', 'INTERNAL'];
const OF_KEYS: readonly ProblemCode[] = ['UNAUTHENTICATED', 'FORBIDDEN', 'RATE_LIMITED', 'STORE_UNAVAILABLE'];
const OF_CHANGES: readonly ProblemCode[] = ['FORBIDDEN_ORIGIN'];
const OF_BODIES: readonly ProblemCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

/** Headers that answers of a status always have. */
const HEADERS: Readonly<Record<number, Json>> = {
  405: header('Allow', 'The methods that the path has.', { type: 'string' }),
  401: header('WWW-Authenticate', 'How to authenticate.', { type: 'string' }),
  429: header('Retry-After', 'Seconds after which it is worth asking again.', { type: 'integer' }),
  503: header('Retry-After', 'Seconds after which it is worth asking again.', { type: 'integer' }),
};

/** What an operation is answered with beside its own answers: a problem for each status that its codes have. */
export function problemsOf(
  operation: Operation,
  { method, path, needsKey }: { readonly method: string; readonly path: string; readonly needsKey: boolean },
): Json {
  const codes = new Set<ProblemCode>([
    ...OF_ALL,
    ...(needsKey ? OF_KEYS : []),
    ...(method === 'get' ? [] : OF_CHANGES),
    ...(operation.body === undefined && operation.bytes === undefined ? [] : OF_BODIES),
    ...(path.includes('{') ? (['NOT_FOUND'] as const) : []),
    ...(operation.parameters?.some(({ name }) => CURSORS.has(name)) === true
      ? (['INVALID_CURSOR'] as const)
      : []),
    ...(operation.problems ?? []),
  ]);
  return Object.fromEntries(
    [...byStatus(codes)].map(([status, ofStatus]) => [
      status,
      { $ref: `#/components/responses/${nameOf(status)}`, description: named(ofStatus) },
    ]),
  );
}

/** Parameters that are cursors. */
const CURSORS: ReadonlySet<unknown> = new Set(['after', 'before', 'cursor']);

/** The problems by status, as components. */
export function problemComponents(): Json {
  const codes = Object.keys(PROBLEM_STATUS) as ProblemCode[];
  return Object.fromEntries(
    [...byStatus(codes)].map(([status, ofStatus]) => [nameOf(status), problem(status, ofStatus)]),
  );
}

function problem(status: number, codes: readonly ProblemCode[]): Json {
  const narrowed = { properties: { status: { const: status }, code: { enum: codes } } };
  return {
    description: named(codes),
    ...(HEADERS[status] === undefined ? {} : { headers: HEADERS[status] }),
    content: { [PROBLEM_CONTENT_TYPE]: { schema: { allOf: [ref('Problem'), narrowed] } } },
  };
}

function byStatus(codes: Iterable<ProblemCode>): Map<number, ProblemCode[]> {
  const found = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const status = PROBLEM_STATUS[code];
    found.set(status, [...(found.get(status) ?? []), code]);
  }
  return found;
}

function header(name: string, description: string, schema: Json): Json {
  return { [name]: { description, required: true, schema } };
}

function nameOf(status: number): string {
  return `Problem${String(status)}`;
}

function named(codes: readonly ProblemCode[]): string {
  return codes.map((code) => `\`${code}\``).join(', ');
}
