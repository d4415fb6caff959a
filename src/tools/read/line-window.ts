/** Picks lines out of bytes that come in chunks, within bounds of lines, characters and bytes. */
import { utf8Head } from '../utf8-cut.js';

export interface LineWindowLimits {
  /** The first line, from 1. */
  readonly offset: number;
  /** The most lines. */
  readonly limit: number;
  /** The most UTF-16 code units of a line. */
  readonly lineCharacters: number;
  /** The most UTF-8 bytes of the whole text. */
  readonly bytes: number;
}

/** The picked lines, each with its number and a tab in front. `lastLine` is 0 where none was picked. */
export interface LineSelection {
  readonly text: string;
  readonly lastLine: number;
  readonly totalLines: number;
}

const LINE_FEED = 10;

export class LineWindow {
  readonly #limits: LineWindowLimits;
  #line = 1;
  #parts: Uint8Array[] = [];
  #partBytes = 0;
  #lineHasBytes = false;
  #lines: string[] = [];
  #bytes = 0;
  #isFull = false;

  constructor(limits: LineWindowLimits) {
    this.#limits = limits;
  }

  add(chunk: Uint8Array): void {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      this.#keep(chunk.subarray(from, at));
      this.#endLine();
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  end(): LineSelection {
    if (this.#lineHasBytes) this.#endLine();
    return {
      text: this.#lines.join(''),
      lastLine: this.#lines.length === 0 ? 0 : this.#limits.offset + this.#lines.length - 1,
      totalLines: this.#line - 1,
    };
  }

  get #isWanted(): boolean {
    return !this.#isFull && this.#line >= this.#limits.offset && this.#lines.length < this.#limits.limit;
  }

  #keep(part: Uint8Array): void {
    this.#lineHasBytes = true;
    // One code unit takes at most three bytes; one more than fits shows that the line is cut.
    const room = this.#limits.lineCharacters * 3 + 8 - this.#partBytes;
    if (!this.#isWanted || room <= 0) return;
    // A copy: the chunk may be used again by the one who gave it.
    const kept = Uint8Array.from(part.subarray(0, room));
    this.#parts.push(kept);
    this.#partBytes += kept.length;
  }

  #endLine(): void {
    if (this.#isWanted) {
      const line = `${String(this.#line)}\t${this.#text()}\n`;
      const bytes = Buffer.byteLength(line);
      if (this.#bytes + bytes > this.#limits.bytes) {
        this.#isFull = true;
      } else {
        this.#lines.push(line);
        this.#bytes += bytes;
      }
    }
    this.#line += 1;
    this.#parts = [];
    this.#partBytes = 0;
    this.#lineHasBytes = false;
  }

  #text(): string {
    const { lineCharacters } = this.#limits;
    const bytes = Buffer.concat(this.#parts);
    const isCut = bytes.length >= lineCharacters * 3 + 8;
    const whole = Buffer.from(isCut ? utf8Head(bytes, bytes.length - 4) : bytes).toString('utf8');
    const text = (this.#line === 1 ? whole.replace(/^\ufeff/, '') : whole).replace(/\r$/, '');
    if (text.length <= lineCharacters) return text;
    // A pair of surrogates is not split.
    const end = /[\ud800-\udbff]/.test(text.charAt(lineCharacters - 1)) ? lineCharacters - 1 : lineCharacters;
    return `${text.slice(0, end)}… [line cut at ${String(lineCharacters)} characters]`;
  }
}
