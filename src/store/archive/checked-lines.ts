/**
 * The lines of a session's file: JSON objects whose last member, `check`, makes a changed byte visible in its own line.
 *
 * Owns the check: the first 16 digits of a SHA-256 that runs over all lines up to and with this one, each without its
 * check and with its line feed. What the lines say is in `archive-entries.ts`.
 */
import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';

const CHECK_DIGITS = 16;
/** `,"check":"0123456789abcdef"}`, without the line feed. */
const CHECK_LENGTH = ',"check":""}'.length + CHECK_DIGITS;

/** A digest that runs over lines, the same for who writes them and who reads them. */
class RunningDigest {
  readonly #hash = createHash('sha256');

  /** Takes a line without its check. */
  add(line: string): void {
    this.#hash.update(line).update('\n');
  }

  /** Over all lines so far, in hexadecimal. */
  get value(): string {
    return this.#hash.copy().digest('hex');
  }

  get check(): string {
    return this.value.slice(0, CHECK_DIGITS);
  }
}

/** Writes checked lines. */
export class LineWriter {
  readonly #digest = new RunningDigest();

  /** The digest of all lines so far. */
  get sha256(): string {
    return this.#digest.value;
  }

  /** The line of an object that has members, with its line feed. */
  line(value: Readonly<Record<string, unknown>>): string {
    const text = JSON.stringify(value);
    this.#digest.add(text);
    return `${text.slice(0, -1)},"check":"${this.#digest.check}"}\n`;
  }
}

/** Reads checked lines in their order. */
export class LineReader {
  readonly #digest = new RunningDigest();

  /** The digest of all lines that were read. */
  get sha256(): string {
    return this.#digest.value;
  }

  /** The object of a line that is given without its line feed; undefined where a byte of it, or before it, is not as written. */
  read(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
    if (!isUtf8(bytes)) return undefined;
    const line = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    const text = `${line.slice(0, -CHECK_LENGTH)}}`;
    this.#digest.add(text);
    if (line.slice(-CHECK_LENGTH) !== `,"check":"${this.#digest.check}"}`) return undefined;
    try {
      return JSON.parse(text) as Readonly<Record<string, unknown>>;
    } catch {
      // Somebody has made a check over something that is no JSON.
      return undefined;
    }
  }
}

/** A line without its line feed. */
export interface FileLine {
  readonly bytes: Uint8Array;
  /** Whether it had one: the last line of a file that was cut has none. */
  readonly isWhole: boolean;
}

/** A line is longer than any that is written. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

/** Splits bytes into lines as they come. @throws LineTooLong. */
export async function* linesOf(
  source: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<FileLine, void, void> {
  let pending: Uint8Array[] = [];
  let length = 0;
  const take = (last: Uint8Array): Uint8Array => {
    const bytes = pending.length === 0 ? last : Buffer.concat([...pending, last]);
    pending = [];
    length = 0;
    return bytes;
  };
  for await (const chunk of source) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      if (length + end - from > limitBytes) throw new LineTooLong();
      yield { bytes: take(chunk.subarray(from, end)), isWhole: true };
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    length += rest.byteLength;
    if (length > limitBytes) throw new LineTooLong();
    if (rest.byteLength > 0) pending.push(rest);
  }
  if (length > 0) yield { bytes: take(new Uint8Array()), isWhole: false };
}
