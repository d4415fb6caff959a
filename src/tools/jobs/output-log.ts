/**
 * The output of a job in its folder: text that is appended, of which the end is kept.
 *
 * It stands in segments, files that are named by the position of their first byte, so that what is kept and how much
 * there was is seen from the names and sizes alone, by any process.
 */
import { appendFileSync, closeSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from '../file-errors.js';

const SEGMENT_PREFIX = 'output-';

/** Positions in all that was ever written, in bytes: `end` is behind the last one. */
export interface KeptOutput {
  readonly start: number;
  readonly end: number;
}

interface Segment {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

export interface OutputLog {
  /** Appends whole characters. Never throws: what cannot be written is left out, and said so once writing works again. */
  append(text: string): void;
  /** Appends a line of its own. */
  note(line: string): void;
}

/**
 * The log of a job that starts; its only writer. Synchronous, so that the order is that of the calls, and what was
 * appended is there when the process is killed.
 *
 * @param keptBytes at least half of it is kept of what was written last, and at most all of it
 */
export function createOutputLog(folder: string, keptBytes: number): OutputLog {
  let current: Segment = segmentAt(folder, 0, 0);
  let previous: Segment | undefined;
  let unwrittenBytes = 0;
  let midLine = false;

  function write(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    if (current.end > current.start && current.end - current.start + bytes.length > keptBytes / 2) {
      if (previous !== undefined) rmSync(previous.path, { force: true });
      previous = current;
      current = segmentAt(folder, current.end, 0);
    }
    try {
      appendFileSync(current.path, bytes, { mode: 0o600 });
    } finally {
      // Asked rather than counted: a full disk takes a part of the bytes.
      const size = statSync(current.path, { throwIfNoEntry: false })?.size ?? 0;
      current = { ...current, end: current.start + size };
    }
    midLine = !text.endsWith('\n');
  }

  function append(text: string): void {
    if (text === '') return;
    try {
      if (unwrittenBytes > 0) {
        write(`${midLine ? '\n' : ''}[${String(unwrittenBytes)} bytes could not be written down]\n`);
        unwrittenBytes = 0;
      }
      write(text);
    } catch {
      // A full disk, or a folder that went with its session: the command goes on without.
      unwrittenBytes += Buffer.byteLength(text);
    }
  }

  return {
    append,
    note: (line) => {
      append(`${midLine ? '\n' : ''}${line}\n`);
    },
  };
}

/** What of the output is kept. */
export function keptOutput(folder: string): KeptOutput {
  const segments = listSegments(folder);
  return { start: segments[0]?.start ?? 0, end: segments.at(-1)?.end ?? 0 };
}

/** The bytes between two positions, without those that are not kept. */
export function readOutput(folder: string, from: number, to: number): Buffer {
  const parts = listSegments(folder)
    .filter(({ start, end }) => start < to && end > from)
    .map(({ path, start, end }) => readPart(path, Math.max(from, start) - start, Math.min(to, end) - start));
  return Buffer.concat(parts);
}

function listSegments(folder: string): Segment[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(SEGMENT_PREFIX))
    .map((name) => Number(name.slice(SEGMENT_PREFIX.length)))
    .sort((a, b) => a - b)
    .flatMap((start) => {
      const size = statSync(segmentAt(folder, start, 0).path, { throwIfNoEntry: false })?.size;
      // Without a size its writer dropped it meanwhile.
      return size === undefined ? [] : [segmentAt(folder, start, size)];
    });
}

function segmentAt(folder: string, start: number, size: number): Segment {
  return { path: join(folder, `${SEGMENT_PREFIX}${String(start)}`), start, end: start + size };
}

function readPart(path: string, from: number, to: number): Buffer {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    // Its writer dropped it meanwhile.
    if (isMissing(error)) return Buffer.alloc(0);
    throw error;
  }
  try {
    const buffer = Buffer.alloc(to - from);
    let filled = 0;
    for (let read = -1; read !== 0 && filled < buffer.length; filled += read) {
      read = readSync(file, buffer, filled, buffer.length - filled, from + filled);
    }
    return buffer.subarray(0, filled);
  } finally {
    closeSync(file);
  }
}
