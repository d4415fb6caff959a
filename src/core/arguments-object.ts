/** Reads the raw arguments of a call, which stay a string until they are needed (DESIGN 8). */

import type { JsonValue } from '../contract/json.js';

/** The object that the text holds, `{}` for no text; undefined where it holds none. */
export function parseArgumentsObject(raw: string): Record<string, JsonValue> | undefined {
  if (raw.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, JsonValue>)
      : undefined;
  } catch {
    // No JSON: the answer is that there is no object.
    return undefined;
  }
}
