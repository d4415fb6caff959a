/** From the model's raw argument string to checked arguments, or to an error text that lists every violation. */
import type { z } from 'zod';
import { isTooDeep, MAX_JSON_DEPTH } from '../contract/json.js';
import type { Tool } from './tool.js';

export type ParsedArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  /** `message` is for the model, `violations` for anybody. */
  | { readonly ok: false; readonly message: string; readonly violations: readonly string[] };

/** Parses the raw string of a call. `''` is `{}`. The message names each violation with its path. */
export function parseCallArguments(tool: Tool, raw: string): ParsedArguments {
  let value: unknown;
  try {
    value = raw.trim() === '' ? {} : JSON.parse(raw);
  } catch (error) {
    return invalid(tool, [`not valid JSON: ${error instanceof Error ? error.message : String(error)}`]);
  }
  return checkArguments(tool, value);
}

/** Checks arguments that are parsed already. A schema that fails by itself accepts none. */
export function checkArguments(tool: Tool, value: unknown): ParsedArguments {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    return invalid(tool, [`must be a JSON object, not ${kind}`]);
  }
  if (isTooDeep(value)) {
    return invalid(tool, [
      `arrays and objects stand in one another more than ${String(MAX_JSON_DEPTH)} deep`,
    ]);
  }
  try {
    const parsed = tool.parameters.safeParse(value);
    if (parsed.success) return { ok: true, value: parsed.data as Record<string, unknown> };
    return invalid(tool, parsed.error.issues.map(describeIssue));
  } catch (error) {
    // Zod throws where a check of the schema does, and where one is asynchronous.
    return invalid(tool, [`cannot be checked: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

function invalid(tool: Tool, violations: readonly string[]): ParsedArguments {
  const list = violations.map((violation) => `- ${violation}`).join('\n');
  return {
    ok: false,
    violations,
    message: `The arguments of ${tool.name} are invalid; it did not run.\n${list}\nSend a JSON object that fits the tool's schema.`,
  };
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${String(key)}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}
