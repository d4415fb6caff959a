/**
 * The text of the block that is being written, with its marks.
 *
 * Marks can stay open over the end of a block; each block then gets its own pair of them.
 */

/** Puts marks around text that is not empty and has no white space at its ends. */
type Mark = (text: string) => string;

interface Span {
  readonly name: string;
  readonly mark: Mark;
  pieces: string[];
}

export class InlineText {
  readonly #root: Span = { name: '', mark: (text) => text, pieces: [] };
  readonly #open: Span[] = [];
  /** Whether a space at this place would be one too many. */
  #endsInSpace = true;
  #length = 0;

  /** At least how many characters wait to be taken. */
  get length(): number {
    return this.#length;
  }

  /** Adds running text; white space in it counts as one space. */
  add(text: string): void {
    const spaced = text.replace(/[ \t\n\r\f]+/g, ' ');
    const piece = this.#endsInSpace && spaced.startsWith(' ') ? spaced.slice(1) : spaced;
    if (piece === '') return;
    this.#push(piece);
    this.#endsInSpace = piece.endsWith(' ');
  }

  breakLine(): void {
    this.#push('\n');
    this.#endsInSpace = true;
  }

  /** Opens a mark; one inside of another with the same name adds nothing. */
  open(name: string, mark: Mark): void {
    if (!this.#open.some((span) => span.name === name)) this.#open.push({ name, mark, pieces: [] });
  }

  close(name: string): void {
    const innermost = this.#open.at(-1);
    if (innermost?.name !== name) return;
    this.#open.pop();
    this.#push(marked(innermost));
  }

  /** The whole text up to here; marks that are open begin again behind it. */
  take(): string {
    const text = [this.#root, ...this.#open].reduceRight((inner, span) => {
      span.pieces.push(inner);
      const outer = marked(span);
      span.pieces = [];
      return outer;
    }, '');
    this.#endsInSpace = true;
    this.#length = 0;
    return text.trim().replace(/ ?\n ?/g, '\n');
  }

  #push(piece: string): void {
    this.#length += piece.length;
    (this.#open.at(-1) ?? this.#root).pieces.push(piece);
  }
}

function marked({ pieces, mark }: Span): string {
  const text = pieces.join('');
  const inner = text.trim();
  if (inner === '') return text;
  const start = text.indexOf(inner);
  return text.slice(0, start) + mark(inner) + text.slice(start + inner.length);
}
