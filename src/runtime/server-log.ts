/**
 * The server's log: warnings and errors on standard error, which may be a file on a disk that is full, or a pipe that
 * nobody reads.
 */
import { writeSync } from 'node:fs';
import { pino, type Logger } from 'pino';

const STANDARD_ERROR = 2;
/** What cannot be written waits, up to this; what comes then is dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;
const RETRY_MS = 1000;

/** A logger that never throws and never waits: what the server says of itself must not end it. */
export function createServerLog(): Logger {
  return pino({ level: 'warn' }, { write: createWriter() });
}

function createWriter(): (line: string) => void {
  const waiting: Buffer[] = [];
  let size = 0;
  let retry: NodeJS.Timeout | undefined;

  const drain = (): void => {
    retry = undefined;
    try {
      for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
        const written = writeSync(STANDARD_ERROR, first);
        size -= written;
        if (written === first.length) waiting.shift();
        else waiting[0] = first.subarray(written);
      }
    } catch {
      // There is no other place where the failure of a log could be told.
      retry = setTimeout(drain, RETRY_MS).unref();
    }
  };

  return (line) => {
    const bytes = Buffer.from(line);
    if (size + bytes.length > MAX_WAITING_BYTES) return;
    waiting.push(bytes);
    size += bytes.length;
    if (retry === undefined) drain();
  };
}
