/**
 * Writes Markdown from the beginning and end of blocks, list items, table cells and inline marks.
 *
 * Knows Markdown, not HTML. The text is for a model to read, so its characters are not escaped, but for `|` in tables.
 * The work grows with the input and the output alone.
 */
import { InlineText } from './inline-text.js';

/** Quotes and lists that are deeper are written as if they were at this depth. */
const MAX_CONTAINERS = 20;

interface Container {
  readonly isItem: boolean;
  /** In front of the container's first line, and of its others. */
  readonly first: string;
  readonly rest: string;
  isFresh: boolean;
}

interface Table {
  /** A cell holds what no cell of a Markdown table can: from there on each cell is written as blocks. */
  isLayout: boolean;
  rows: number;
  /** Of the row that is open. */
  cells: string[];
}

export class MarkdownWriter {
  readonly #blocks: string[] = [];
  #written = 0;
  readonly #inline = new InlineText();
  readonly #containers: Container[] = [];
  readonly #tables: Table[] = [];
  #isInCell = false;
  #isAfterItem = false;

  /** About how many characters the text has by now. */
  get length(): number {
    return this.#written + this.#inline.length;
  }

  /** Adds running text; white space in it counts as one space. */
  text(text: string): void {
    this.#inline.add(text);
  }

  lineBreak(): void {
    if (this.#isInCell) this.#inline.add(' ');
    else this.#inline.breakLine();
  }

  /** Opens emphasis by its mark, such as `**`. */
  openEmphasis(mark: string): void {
    this.#inline.open(mark, (text) => mark + text + mark);
  }

  closeEmphasis(mark: string): void {
    this.#inline.close(mark);
  }

  openCode(): void {
    this.#inline.open('`', codeSpan);
  }

  closeCode(): void {
    this.#inline.close('`');
  }

  /** Links do not nest: one that is open ends here. */
  openLink(target: string): void {
    this.closeLink();
    this.#inline.open('link', (text) => `[${text.replaceAll('\n', ' ')}](${target})`);
  }

  closeLink(): void {
    this.#inline.close('link');
  }

  image(words: string, target: string): void {
    this.#inline.add(`![${words}](${target})`);
  }

  /** Ends the block that is being written; in a cell of a table it only parts words. */
  endBlock(): void {
    if (this.#isInCell) this.#inline.add(' ');
    else this.#flush();
  }

  /** Ends the block that is being written as a heading of a level from 1 to 6. */
  endHeading(level: number): void {
    const text = this.#inline.take().replaceAll('\n', ' ');
    if (text !== '') this.#write(`${'#'.repeat(level)} ${text}`);
  }

  rule(): void {
    this.beginBlock();
    this.#write('---');
  }

  /** Writes lines as they are, in a fence that none of them ends. */
  codeBlock(code: string, language: string): void {
    this.beginBlock();
    const fence = '`'.repeat(Math.max(3, longestBackticks(code) + 1));
    this.#write(`${fence}${language}\n${code}\n${fence}`);
  }

  /** Begins a block that no cell of a Markdown table can hold; a table around it becomes blocks. */
  beginBlock(): void {
    const table = this.#tables.at(-1);
    if (this.#isInCell && table !== undefined) {
      this.#isInCell = false;
      table.isLayout = true;
      for (const cell of table.cells.splice(0)) if (cell !== '') this.#write(cell);
    }
    this.#flush();
  }

  /** Opens a list item; `marker` is such as `-` or `7.`. */
  openItem(marker: string): void {
    this.#openContainer(true, `${marker} `, ' '.repeat(marker.length + 1));
  }

  openQuote(): void {
    this.#openContainer(false, '> ', '> ');
  }

  /** Closes the innermost item or quote. */
  closeContainer(): void {
    this.beginBlock();
    this.#containers.pop();
  }

  openTable(): void {
    this.beginBlock();
    this.#tables.push({ isLayout: false, rows: 0, cells: [] });
  }

  closeTable(): void {
    this.closeRow();
    this.#tables.pop();
  }

  openCell(): void {
    this.closeCell();
    const table = this.#tables.at(-1);
    this.#isInCell = table !== undefined && !table.isLayout;
  }

  closeCell(): void {
    if (!this.#isInCell) {
      this.#flush();
      return;
    }
    this.#isInCell = false;
    this.#tables.at(-1)?.cells.push(this.#inline.take().replaceAll('\n', ' ').replaceAll('|', '\\|'));
  }

  closeRow(): void {
    this.closeCell();
    const table = this.#tables.at(-1);
    const cells = table?.cells.splice(0) ?? [];
    if (table === undefined || cells.every((cell) => cell === '')) return;
    // A Markdown table needs a heading; HTML does not say reliably which row it is, so the first one is.
    if (table.rows === 0) this.#write(`${tableRow(cells)}\n${tableRow(cells.map(() => '---'))}`);
    else this.#write(tableRow(cells), true);
    table.rows += 1;
  }

  /** The whole text. */
  end(): string {
    this.beginBlock();
    return this.#blocks.join('');
  }

  #flush(): void {
    const text = this.#inline.take();
    if (text !== '') this.#write(text);
  }

  #openContainer(isItem: boolean, first: string, rest: string): void {
    this.beginBlock();
    const isShown = this.#containers.length < MAX_CONTAINERS;
    this.#containers.push({ isItem, first: isShown ? first : '', rest: isShown ? rest : '', isFresh: true });
  }

  #write(text: string, continues = false): void {
    const rest = this.#containers.map((container) => container.rest).join('');
    const first = this.#containers.map((container) => (container.isFresh ? container.first : container.rest));
    const startsItem = this.#containers.some(({ isItem, isFresh }) => isItem && isFresh);
    const block = first.join('') + text.replaceAll('\n', `\n${rest}`);
    const isTight = continues || (startsItem && this.#isAfterItem);
    const separator = this.#blocks.length === 0 ? '' : isTight ? '\n' : '\n\n';
    this.#blocks.push(separator + block);
    this.#written += separator.length + block.length;
    for (const container of this.#containers) container.isFresh = false;
    this.#isAfterItem = this.#containers.some(({ isItem }) => isItem);
  }
}

function codeSpan(text: string): string {
  const ticks = '`'.repeat(longestBackticks(text) + 1);
  const space = text.startsWith('`') || text.endsWith('`') ? ' ' : '';
  return ticks + space + text + space + ticks;
}

function longestBackticks(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
