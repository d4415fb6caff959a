/** The size bound of text results: what is too large goes to a blob, with its head and tail in the result. */
import type { InputBlock } from '../contract/content.js';
import type { Sha256 } from '../contract/ids.js';
import type { SaveBlob } from './tool.js';
import { utf8Head, utf8Tail } from './utf8-cut.js';

/** The most bytes of text (UTF-8) that a result holds. */
export const MAX_RESULT_BYTES = 50 * 1024;
const HEAD_BYTES = 32 * 1024;
const TAIL_BYTES = 16 * 1024;

/** Names a blob in a text; `read` accepts it as `file_path`. */
export function blobLocator(sha256: Sha256): string {
  return `blob:${sha256}`;
}

/**
 * Bounds the text of a result. Where all text blocks together are over {@link MAX_RESULT_BYTES} they become one, in the
 * place of the first: head, a note with the blob's locator, tail. Never throws: where the blob cannot be saved the note
 * says so.
 */
export async function boundContent(
  content: readonly InputBlock[],
  saveBlob: SaveBlob,
): Promise<readonly InputBlock[]> {
  const texts = content.filter((block) => block.type === 'text').map((block) => block.text);
  const whole = Buffer.from(texts.join('\n'), 'utf8');
  if (whole.length <= MAX_RESULT_BYTES) return content;
  const head = utf8Head(whole, HEAD_BYTES);
  const tail = utf8Tail(whole, TAIL_BYTES);
  const omitted = `${String(whole.length - head.length - tail.length)} of ${String(whole.length)} bytes left out`;
  const note = await saveBlob(whole, 'text/plain; charset=utf-8').then(
    (sha256) => `${omitted}; the read tool shows the whole: file_path "${blobLocator(sha256)}"`,
    () => `${omitted}; the whole could not be stored`,
  );
  const text = `${decode(head)}\n[${note}]\n${decode(tail)}`;
  const first = content.findIndex((block) => block.type === 'text');
  return content
    .filter((block, index) => block.type !== 'text' || index === first)
    .map((block) => (block.type === 'text' ? { type: 'text', text } : block));
}

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
