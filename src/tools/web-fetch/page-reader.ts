/**
 * What the elements of a web page mean in Markdown: the whole page, without what is not for reading.
 *
 * Knows HTML; how Markdown is written is in `markdown-writer.ts`.
 */
import { MarkdownWriter } from './markdown-writer.js';

/** The parser's work for an element grows with the depth; only pages with very many unclosed elements are as deep. */
const MAX_DEPTH = 4000;
/** Links in a page can make its Markdown many times as long as its HTML. */
const MAX_CHARACTERS = 10_000_000;
const MAX_LINK_CHARACTERS = 2000;
const MAX_TITLE_CHARACTERS = 300;

/** Elements whose content is not for reading, or is for choosing and jumping about. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['script', 'style', 'template', 'noscript', 'nav', 'select', 'textarea', 'datalist'],
  ...['svg', 'canvas', 'iframe', 'object', 'audio', 'video', 'annotation'],
]);
const BLOCKS: ReadonlySet<string> = new Set([
  ...[
    'html',
    'body',
    'header',
    'main',
    'footer',
    'article',
    'aside',
    'section',
    'search',
    'div',
    'p',
    'center',
  ],
  ...[
    'address',
    'caption',
    'details',
    'dialog',
    'dd',
    'dl',
    'dt',
    'fieldset',
    'figcaption',
    'figure',
    'form',
  ],
  ...['legend', 'summary', 'tbody', 'tfoot', 'thead'],
]);
const EMPHASIS: ReadonlyMap<string, string> = new Map([
  ['b', '**'],
  ['strong', '**'],
  ['i', '*'],
  ['em', '*'],
  ['del', '~~'],
  ['s', '~~'],
]);

export interface PageMarkdown {
  /** What the page calls itself; '' where it does not. */
  readonly title: string;
  readonly markdown: string;
  /** The page nests too deep or is too long, so that its end is missing. */
  readonly truncated: boolean;
}

type Attributes = Readonly<Record<string, string>>;

/** Reads one page as its parser reports it: each element that is opened is closed again, the innermost first. */
export class PageReader {
  readonly #writer = new MarkdownWriter();
  /** The numbers of the next items of the open lists; undefined in a list without numbers. */
  readonly #lists: (number | undefined)[] = [];
  #base: URL;
  #depth = 0;
  #isTooDeep = false;
  /** The depth at which an element began that is left out with all in it. */
  #leftOutFrom: number | undefined;
  /** Of the first title element. */
  #title: string | undefined;
  #isInTitle = false;
  #preformatted: { readonly depth: number; language: string; readonly pieces: string[] } | undefined;

  constructor(url: URL) {
    this.#base = url;
  }

  get isFull(): boolean {
    return this.#isTooDeep || this.#writer.length > MAX_CHARACTERS;
  }

  open(name: string, attributes: Attributes): void {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) this.#isTooDeep = true;
    if (this.#leftOutFrom !== undefined || this.isFull) return;
    if (LEFT_OUT.has(name) || 'hidden' in attributes || attributes['aria-hidden'] === 'true') {
      this.#leftOutFrom = this.#depth;
    } else if (this.#preformatted !== undefined) {
      this.#openInPreformatted(name, attributes);
    } else {
      this.#open(name, attributes);
    }
  }

  text(text: string): void {
    if (this.#leftOutFrom !== undefined || this.isFull) return;
    if (this.#isInTitle) this.#title = (this.#title ?? '') + text;
    else if (this.#preformatted !== undefined) this.#preformatted.pieces.push(text);
    else this.#writer.text(text);
  }

  close(name: string): void {
    const depth = this.#depth;
    this.#depth -= 1;
    if (this.#leftOutFrom !== undefined || this.isFull) {
      if (this.#leftOutFrom === depth) this.#leftOutFrom = undefined;
    } else if (this.#preformatted === undefined) {
      this.#close(name);
    } else if (this.#preformatted.depth === depth) {
      this.#endPreformatted();
    } else if (BLOCKS.has(name)) {
      this.#preformatted.pieces.push('\n');
    }
  }

  end(): PageMarkdown {
    this.#endPreformatted();
    const title = (this.#title ?? '').replace(/\s+/g, ' ').trim();
    return {
      title: title.slice(0, MAX_TITLE_CHARACTERS),
      markdown: this.#writer.end(),
      truncated: this.isFull,
    };
  }

  #open(name: string, attributes: Attributes): void {
    const writer = this.#writer;
    const emphasis = EMPHASIS.get(name);
    if (emphasis !== undefined) writer.openEmphasis(emphasis);
    else if (BLOCKS.has(name)) writer.endBlock();
    else if (isHeading(name)) writer.beginBlock();
    switch (name) {
      case 'title':
        if (this.#title === undefined) this.#isInTitle = true;
        else this.#leftOutFrom = this.#depth;
        this.#title ??= '';
        break;
      case 'base':
        this.#base = this.#resolve(attributes.href) ?? this.#base;
        break;
      case 'a':
        this.#openLink(attributes.href);
        break;
      case 'img':
        this.#image(attributes);
        break;
      case 'br':
        writer.lineBreak();
        break;
      case 'hr':
        writer.rule();
        break;
      case 'code':
      case 'kbd':
      case 'samp':
        writer.openCode();
        break;
      case 'pre':
        writer.beginBlock();
        this.#preformatted = { depth: this.#depth, language: languageOf(attributes), pieces: [] };
        break;
      case 'blockquote':
        writer.openQuote();
        break;
      case 'ul':
      case 'menu':
      case 'ol':
        writer.beginBlock();
        this.#lists.push(name === 'ol' ? firstNumber(attributes.start) : undefined);
        break;
      case 'li':
        writer.openItem(this.#nextMarker());
        break;
      case 'table':
        writer.openTable();
        break;
      case 'td':
      case 'th':
        writer.openCell();
        break;
    }
  }

  #close(name: string): void {
    const writer = this.#writer;
    const emphasis = EMPHASIS.get(name);
    if (emphasis !== undefined) writer.closeEmphasis(emphasis);
    else if (BLOCKS.has(name)) writer.endBlock();
    else if (isHeading(name)) writer.endHeading(Number(name.slice(1)));
    switch (name) {
      case 'title':
        this.#isInTitle = false;
        break;
      case 'a':
        writer.closeLink();
        break;
      case 'code':
      case 'kbd':
      case 'samp':
        writer.closeCode();
        break;
      case 'li':
      case 'blockquote':
        writer.closeContainer();
        break;
      case 'ul':
      case 'menu':
      case 'ol':
        writer.beginBlock();
        this.#lists.pop();
        break;
      case 'tr':
        writer.closeRow();
        break;
      case 'td':
      case 'th':
        writer.closeCell();
        break;
      case 'table':
        writer.closeTable();
        break;
    }
  }

  #openInPreformatted(name: string, attributes: Attributes): void {
    const block = this.#preformatted;
    if (block === undefined) return;
    if (name === 'br') block.pieces.push('\n');
    if (name === 'code' && block.language === '') block.language = languageOf(attributes);
  }

  #endPreformatted(): void {
    if (this.#preformatted === undefined) return;
    const { language, pieces } = this.#preformatted;
    this.#preformatted = undefined;
    const code = pieces.join('').replace(/^\n/, '').trimEnd();
    if (code !== '') this.#writer.codeBlock(code, language);
  }

  #openLink(href: string | undefined): void {
    const target = href?.startsWith('#') === true ? undefined : this.#resolve(href)?.href;
    if (target !== undefined) this.#writer.openLink(target);
  }

  /** An image that says nothing is left out. */
  #image({ alt = '', src }: Attributes): void {
    const words = alt.trim();
    if (words !== '') this.#writer.image(words, this.#resolve(src)?.href ?? '');
  }

  #nextMarker(): string {
    const number = this.#lists.at(-1);
    if (number === undefined) return '-';
    this.#lists[this.#lists.length - 1] = number + 1;
    return `${String(number)}.`;
  }

  /** The address that a link leads to, where that is one to read. */
  #resolve(href: string | undefined): URL | undefined {
    if (href === undefined || href.length > MAX_LINK_CHARACTERS || !URL.canParse(href, this.#base.href))
      return undefined;
    const url = new URL(href, this.#base);
    return /^(?:https?|mailto):$/.test(url.protocol) ? url : undefined;
  }
}

function isHeading(name: string): boolean {
  return /^h[1-6]$/.test(name);
}

function firstNumber(start: string | undefined): number {
  const number = Number.parseInt(start ?? '1', 10);
  return Number.isSafeInteger(number) ? number : 1;
}

function languageOf({ class: classes = '' }: Attributes): string {
  return /(?:^|\s)lang(?:uage)?-([A-Za-z0-9+#_-]{1,30})/.exec(classes)?.[1] ?? '';
}
