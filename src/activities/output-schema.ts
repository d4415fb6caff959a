/**
 * JSON Schemas that callers bring, and values held against them.
 *
 * Owns the dialects (2020-12, and draft-07 where `$schema` says so) and that no schema holds up the process: a pattern that
 * backtracks without end is stopped. Formats are annotations only, and nothing is fetched: a reference has to lead
 * into the schema itself.
 */
import { createContext, Script } from 'node:vm';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonValue } from '../contract/json.js';
import type { JsonSchema } from '../core/session-state.js';

/** How long a schema may take to be compiled, and a value to be held against it. */
const TIME_LIMIT_MS = 1000;
/** As many violations are told. */
const MAX_VIOLATIONS = 20;

const OPTIONS = {
  // As the specification has it: keywords that are not known are left alone.
  strict: false,
  validateFormats: false,
  allErrors: true,
  logger: false,
} as const satisfies Options;

/** What is wrong with the schema, for the person who wrote it; undefined where nothing is. */
export function schemaProblem(schema: Readonly<Record<string, unknown>>): string | undefined {
  try {
    compiled(schema);
    return undefined;
  } catch (error) {
    return `is no valid JSON Schema: ${messageOf(error)}`;
  }
}

/** In which ways the value does not fit, each with its place; empty where it does. @throws Error for a wrong schema. */
export function schemaViolations(schema: JsonSchema, value: JsonValue): readonly string[] {
  const validate = compiled(schema);
  try {
    if (withinTime(() => validate(value))) return [];
  } catch (error) {
    return [`it could not be held against the schema: ${messageOf(error)}`];
  }
  const violations = (validate.errors ?? []).map(describe);
  const rest = violations.length - MAX_VIOLATIONS;
  return rest <= 0
    ? violations
    : [...violations.slice(0, MAX_VIOLATIONS), `and ${String(rest)} more violations`];
}

function compiled(schema: Readonly<Record<string, unknown>>): ValidateFunction {
  const validate = withinTime(() => validatorOf(schema.$schema).compile(schema));
  if ('$async' in validate) throw new Error('"$async" is not supported');
  return validate;
}

/** One that knows this schema only: two callers may use the same `$id`. */
function validatorOf(dialect: unknown): Pick<Ajv, 'compile'> {
  if (dialect === undefined) return new Ajv2020(OPTIONS);
  if (typeof dialect === 'string') {
    if (/^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(dialect)) return new Ajv2020(OPTIONS);
    if (/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(dialect)) return new Ajv(OPTIONS);
  }
  throw new Error('"$schema" names neither draft 2020-12 nor draft-07');
}

function describe({ instancePath, message, params, keyword }: ErrorObject): string {
  const place = instancePath === '' ? 'the value' : instancePath;
  const allowed =
    keyword === 'enum'
      ? `: ${JSON.stringify(params.allowedValues)}`
      : keyword === 'const'
        ? `: ${JSON.stringify(params.allowedValue)}`
        : keyword === 'additionalProperties'
          ? `: ${JSON.stringify(params.additionalProperty)}`
          : '';
  return `${place} ${message ?? `breaks "${keyword}"`}${allowed}`;
}

function messageOf(error: unknown): string {
  // It is an error of the context that was stopped, and no instance of this one's.
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'it takes too long';
  return error instanceof Error ? error.message.slice(0, 500) : String(error);
}

const RUN = new Script('run()');

/** The result of the work. @throws Error `ERR_SCRIPT_EXECUTION_TIMEOUT`: a running regular expression is stopped as well. */
function withinTime<T>(run: () => T): T {
  return RUN.runInContext(createContext({ run }), { timeout: TIME_LIMIT_MS }) as T;
}
