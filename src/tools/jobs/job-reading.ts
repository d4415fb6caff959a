/** What one call is shown of a job's output. */
import type { JobFiles } from './job-files.js';
import { keptOutput, readOutput } from './output-log.js';
import { nextPosition, takenRange, takeRange } from './read-ranges.js';
import type { JobOutput, JobStatus } from './session-jobs.js';
import { utf8Head, utf8Tail } from '../utf8-cut.js';

/** Together with the notes around them these stay within the size bound of a result. */
const HEAD_BYTES = 16 * 1024;
const TAIL_BYTES = 32 * 1024;
const LONGEST_CHARACTER_BYTES = 4;

/** Returns a check whether there is something to show to the call. */
export function outputCheck({ folder }: JobFiles, call: string): () => boolean {
  if (takenRange(folder, call) !== undefined) return () => true;
  const position = nextPosition(folder);
  return () => keptOutput(folder).end > position;
}

/**
 * Gives the call what no call has been given yet.
 * @param status as it was before, so that of a job that has ended all is there
 */
export function takeOutput({ folder }: JobFiles, call: string, status: JobStatus): JobOutput {
  const kept = keptOutput(folder);
  const end = status.kind === 'running' ? wholeEnd(folder, kept.end) : kept.end;
  const { from, to } = takeRange(folder, call, end);
  const start = Math.min(Math.max(from, kept.start), to);
  const text = { status, droppedBytes: start - from, laterBytes: Math.max(0, end - to) };
  if (to - start <= HEAD_BYTES + TAIL_BYTES) {
    return { ...text, head: decode(readOutput(folder, start, to)), omittedBytes: 0, tail: '' };
  }
  // One byte more than is shown tells whether the cut is between characters.
  const head = utf8Head(readOutput(folder, start, start + HEAD_BYTES + 1), HEAD_BYTES);
  const tail = utf8Tail(readOutput(folder, to - TAIL_BYTES - 1, to), TAIL_BYTES);
  const omittedBytes = to - start - head.length - tail.length;
  return { ...text, head: decode(head), omittedBytes, tail: decode(tail) };
}

/** The end without a last character that its writer, another process, is still at. */
function wholeEnd(folder: string, end: number): number {
  const last = readOutput(folder, end - LONGEST_CHARACTER_BYTES, end);
  const lead = last.findLastIndex((byte) => (byte & 0xc0) !== 0x80);
  const there = last.length - lead;
  return lead !== -1 && there < characterBytes(last[lead] ?? 0) ? end - there : end;
}

/** How many bytes the character has that begins with this one. */
function characterBytes(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
