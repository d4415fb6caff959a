/**
 * Small JSON files of the home, written so that a reader sees the old one or the new one and never a part.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';

/** Replaces the file, readable by its owner only. The pid in the temporary name keeps two writers apart. */
export function writeStateFile(file: string, value: unknown): void {
  const temporary = `${file}.${String(process.pid)}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(value)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}

/** The file's value; undefined where it is missing, or not what the schema wants, as after a change of version. */
export function readStateFile<T>(file: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    // Missing or no JSON: the caller treats both as "nothing is known".
    return undefined;
  }
}

/** Removes the file where it exists. */
export function removeStateFile(file: string): void {
  rmSync(file, { force: true });
}
