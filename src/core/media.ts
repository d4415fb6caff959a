/**
 * What becomes of images and files on the way to a model, by their media types.
 *
 * Owns which types there are. How a wire spells them is the business of `model/`; whether a prompt with them is accepted,
 * of the API.
 */
import type { FileBlock, ImageBlock } from '../contract/content.js';

/** What both wires take as images. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
/** What both wires take as documents. */
const DOCUMENT_TYPE = 'application/pdf';
const TEXT_TYPE = /^text\/|[/+](?:json|xml|yaml|toml|javascript|typescript)$/i;

/** How a model is shown an image or a file: with an ability of its own, as text, or not at all. */
export type Showing = 'image' | 'document' | 'text' | 'nothing';

/** How the block is shown to a model that has the ability for it. */
export function showingOf({ type, mediaType }: Pick<ImageBlock | FileBlock, 'type' | 'mediaType'>): Showing {
  if (type === 'image') return IMAGE_TYPES.has(mediaType) ? 'image' : 'nothing';
  if (isTextType(mediaType)) return 'text';
  return mediaType === DOCUMENT_TYPE ? 'document' : 'nothing';
}

/** Whether bytes of this type are text, whose charset is UTF-8. */
export function isTextType(mediaType: string): boolean {
  return TEXT_TYPE.test(mediaType);
}

const SIGNATURES: Readonly<Record<string, string>> = {
  'image/png': '\x89PNG\r\n\x1a\n',
  'image/jpeg': '\xff\xd8\xff',
  'image/gif': 'GIF8',
  'image/webp': 'RIFF????WEBP',
  [DOCUMENT_TYPE]: '%PDF-',
};

/**
 * Whether bytes can be what their type says, as far as their beginning tells. A provider that is sent others refuses the
 * request, and every later one of the conversation.
 */
export function canBe(mediaType: string, bytes: Uint8Array): boolean {
  const signature = Object.hasOwn(SIGNATURES, mediaType) ? SIGNATURES[mediaType] : undefined;
  if (signature === undefined) return true;
  return Array.from(signature).every((sign, index) => sign === '?' || bytes[index] === sign.charCodeAt(0));
}
