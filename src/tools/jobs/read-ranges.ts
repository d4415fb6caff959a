/**
 * Which output of a job each call was given.
 *
 * A call that is repeated, because its attempt was lost, gets the range again that its first attempt took, and so does an
 * attempt that was given up and wakes: nothing is lost to the model, whoever took it. So a range never changes, and the
 * file is only appended to.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isMissing } from '../file-errors.js';

const RANGES_FILE = 'reads.jsonl';

const rangeSchema = z.object({ call: z.string(), from: z.number(), to: z.number() });

/** Positions in the job's output, in bytes. */
export interface ReadRange {
  readonly from: number;
  readonly to: number;
}

/** The range that the call was given; undefined where it has none yet. */
export function takenRange(folder: string, call: string): ReadRange | undefined {
  return readRanges(folder).find((range) => range.call === call);
}

/** Where the next call that has no range yet begins. */
export function nextPosition(folder: string): number {
  return readRanges(folder).reduce((position, { to }) => Math.max(position, to), 0);
}

/** Gives the call what no call has been given yet, up to `end`; one that has its range keeps it. */
export function takeRange(folder: string, call: string, end: number): ReadRange {
  const taken = takenRange(folder, call);
  if (taken !== undefined) return taken;
  const from = nextPosition(folder);
  const range = { call, from, to: Math.max(from, end) };
  // The line break in front closes a line that a full disk cut off.
  appendFileSync(join(folder, RANGES_FILE), `\n${JSON.stringify(range)}`, { mode: 0o600 });
  return range;
}

function readRanges(folder: string): z.infer<typeof rangeSchema>[] {
  let text: string;
  try {
    text = readFileSync(join(folder, RANGES_FILE), 'utf8');
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => parseRange(line) ?? []);
}

function parseRange(line: string): z.infer<typeof rangeSchema> | undefined {
  try {
    return rangeSchema.safeParse(JSON.parse(line)).data;
  } catch {
    // The empty first line, or one that was cut off: its call was answered with an error.
    return undefined;
  }
}
