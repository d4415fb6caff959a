/**
 * The engine's own output in `engine.log` of the home: opened for a start, cut where it grew large, read when a start
 * fails.
 */
import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const ROTATE_AT_BYTES = 1024 * 1024;
const TAIL_BYTES = 4096;
const TAIL_LINES = 15;

export interface EngineLog {
  /** For the engine's standard output and error; the caller closes it. */
  readonly descriptor: number;
  /** The last lines that this start has written; '' where there are none. */
  tail(): string;
}

/** Opens the log for one start of the engine. A log over a mebibyte becomes `engine.log.1` first. */
export function openEngineLog(file: string): EngineLog {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > ROTATE_AT_BYTES) renameSync(file, `${file}.1`);
  const descriptor = openSync(file, 'a', 0o600);
  const start = fstatSync(descriptor).size;
  return { descriptor, tail: () => tailOf(file, start) };
}

function tailOf(file: string, start: number): string {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const buffer = Buffer.alloc(Math.min(TAIL_BYTES, Math.max(0, size - start)));
    const read = readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    const lines = buffer.toString('utf8', 0, read).trimEnd().split('\n');
    return lines.slice(-TAIL_LINES).join('\n');
  } finally {
    closeSync(descriptor);
  }
}
