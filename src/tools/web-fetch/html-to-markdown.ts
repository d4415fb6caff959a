/**
 * A web page as Markdown.
 *
 * The page is parsed as a stream, in slices between which other work gets its turn: a worker that converts a hostile or
 * a huge page still sends its heartbeats. Libraries that convert a tree need seconds or never end for such pages.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Parser } from 'htmlparser2';
import { type PageMarkdown, PageReader } from './page-reader.js';

const SLICE_CHARACTERS = 16 * 1024;

/**
 * Converts a page. Links are made absolute by `url`. Never fails on the page's account.
 *
 * @throws the signal's reason once it is aborted.
 */
export async function htmlToMarkdown(html: string, url: URL, signal: AbortSignal): Promise<PageMarkdown> {
  const reader = new PageReader(url);
  const parser = new Parser({
    onopentag: (name, attributes) => {
      reader.open(name, attributes);
    },
    ontext: (text) => {
      reader.text(text);
    },
    onclosetag: (name) => {
      reader.close(name);
    },
  });
  for (let start = 0; start < html.length && !reader.isFull; start += SLICE_CHARACTERS) {
    await nextTurn();
    signal.throwIfAborted();
    parser.write(html.slice(start, start + SLICE_CHARACTERS));
  }
  // Closing what is open would take its time too where that is very much, and adds nothing then.
  if (!reader.isFull) parser.end();
  return reader.end();
}
