/** Titles of sessions: how a text becomes one. */
import type { InputBlock } from '../contract/content.js';

/** Of a title, in characters. */
const MAX_CHARACTERS = 80;
/** More of a text is not looked at. */
const MAX_TEXT_CHARACTERS = 2000;

/** Control characters, those that turn the direction of writing, the byte order mark and halves of characters. */
const INVISIBLE = /[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/**
 * The text as a title: one line of at most 80 characters without control characters, cut at a word and marked by an
 * ellipsis where it is longer. Undefined where nothing is left.
 */
export function titleOf(text: string): string | undefined {
  const line = text
    .slice(0, MAX_TEXT_CHARACTERS)
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE, '')
    .replace(/ +/g, ' ')
    .trim();
  const characters = Array.from(line);
  if (characters.length === 0) return undefined;
  if (characters.length <= MAX_CHARACTERS) return line;
  const start = characters.slice(0, MAX_CHARACTERS - 1).join('');
  const atWord = characters[MAX_CHARACTERS - 1] === ' ' ? start : start.replace(/ [^ ]*$/, '');
  return `${atWord.trimEnd()}…`;
}

/** The title that a prompt gives its session, by its words. */
export function titleOfPrompt(content: readonly InputBlock[]): string | undefined {
  return titleOf(content.map((block) => (block.type === 'text' ? block.text : '')).join(' '));
}
