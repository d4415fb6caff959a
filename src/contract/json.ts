/** JSON values that callers and models bring, and how deep they may be. */
import { z } from 'zod';

export const jsonValueSchema = z.json();
export type JsonValue = z.infer<typeof jsonValueSchema>;

/** What is deeper than this is refused: whatever walks a value by recursion has to come back from it. */
export const MAX_JSON_DEPTH = 100;

/** Whether arrays and objects stand in one another more than {@link MAX_JSON_DEPTH} times. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_JSON_DEPTH) return true;
    level = level.flatMap((entry) =>
      typeof entry === 'object' && entry !== null ? (Object.values(entry) as unknown[]) : [],
    );
  }
  return false;
}
