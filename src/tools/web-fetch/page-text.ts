/** What the body of an answer is and how it reads: HTML as Markdown, other text as it is, the rest by type and size. */
import { binaryMediaType, looksBinary } from '../media-type.js';
import type { GuardedResponse } from '../web/guarded-fetch.js';
import { decodeText, isUtf16 } from './charset.js';
import { htmlToMarkdown } from './html-to-markdown.js';

export interface PageText {
  /** '' where there is none. */
  readonly title: string;
  readonly text: string;
  /** The text stands for a body that is no text. */
  readonly isBinary: boolean;
  /** Not all of what was received is in the text. */
  readonly truncated: boolean;
}

/** Types beside `text/*`, `+json`, `+xml` and `+yaml` that are text. */
const TEXT_TYPES =
  /^application\/(?:json|ld\+json|x-ndjson|jsonl|xml|javascript|x-javascript|ecmascript|yaml|x-yaml|toml|sql|graphql|x-sh|x-www-form-urlencoded)$/;

/** Reads the answer's body. @throws the signal's reason once it is aborted. */
export async function readPage(response: GuardedResponse, signal: AbortSignal): Promise<PageText> {
  const contentType = response.headers['content-type'] ?? '';
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!isText(response.bytes, mediaType, contentType)) {
    return { title: '', text: describeBinary(response, mediaType), isBinary: true, truncated: false };
  }
  const text = decodeText(response.bytes, contentType);
  if (!isHtml(mediaType, text)) return { title: '', text, isBinary: false, truncated: false };
  const { markdown, ...page } = await htmlToMarkdown(text, response.url, signal);
  return { ...page, text: markdown, isBinary: false };
}

function isText(bytes: Uint8Array, mediaType: string, contentType: string): boolean {
  if (bytes.length === 0) return true;
  const isNamedText =
    mediaType.startsWith('text/') || TEXT_TYPES.test(mediaType) || /\+(?:json|xml|yaml)$/.test(mediaType);
  if (isNamedText) return isUtf16(bytes, contentType) || !looksBinary(bytes);
  // Servers that do not know a type say octet-stream or nothing.
  const isUnknown = mediaType === '' || mediaType === 'application/octet-stream';
  return isUnknown && !looksBinary(bytes) && isUtf8(bytes);
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    // `stream`: a character that the size bound cut in two is no wrong one.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    // The only error is that the bytes are not in UTF-8.
    return false;
  }
}

function isHtml(mediaType: string, text: string): boolean {
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml') return true;
  return mediaType === '' && /^\s*<(?:!doctype html|html)[\s>]/i.test(text.slice(0, 1000));
}

function describeBinary({ bytes, truncated, headers }: GuardedResponse, mediaType: string): string {
  const type =
    mediaType === '' || mediaType === 'application/octet-stream' ? binaryMediaType(bytes) : mediaType;
  const announced = headers['content-encoding'] === undefined ? headers['content-length'] : undefined;
  const size = truncated ? (announced ?? `more than ${String(bytes.length)}`) : String(bytes.length);
  return `[no text: ${type}, ${size} bytes]`;
}
