/**
 * Moves large content of an event to the blob store and back: the event keeps a preview and the digest.
 *
 * Owns which strings may move: texts of content blocks, raw arguments and the output of a turn, as text and as a value.
 */
import { blobBlockSchema, MAX_INLINE_BYTES, type BlobBlock, type InputBlock } from '../contract/content.js';
import type { NewEvent } from '../contract/events.js';
import type { Sha256 } from '../contract/ids.js';
import type { JsonValue } from '../contract/json.js';
import { previewOf } from '../core/preview.js';
import { StoreError } from './session-store.js';

type SaveBlob = (bytes: Uint8Array, mediaType: string) => Promise<Sha256>;

const TEXT = 'text/plain; charset=utf-8';
const JSON_TEXT = 'application/json';

/**
 * The event with every string over {@link MAX_INLINE_BYTES} moved to the blob store, but for those that would not come
 * back from it as they were.
 */
export async function moveLargeContent(event: NewEvent, saveBlob: SaveBlob): Promise<NewEvent> {
  // A string has at most as many code units as bytes, and at least a third; most events end here.
  if (!mayBeLarge(event) && !looksMoved(event)) return event;
  const move = (text: string, mediaType: string) => toBlob(text, mediaType, saveBlob);
  const moveContent = <B extends { readonly type: string }>(content: readonly B[]) =>
    Promise.all(content.map((block) => moveBlock(block, move)));
  switch (event.type) {
    case 'agent/inbox/spliced': {
      if (event.data.inserted === undefined) return event;
      const inserted = await Promise.all(
        event.data.inserted.map(async (item) => ({ ...item, content: await moveContent(item.content) })),
      );
      return { ...event, data: { ...event.data, inserted } };
    }
    case 'user/message':
      return { ...event, data: { ...event.data, content: await moveContent(event.data.content) } };
    case 'assistant/message':
      return { ...event, data: { ...event.data, content: await moveContent(event.data.content) } };
    case 'tool/result':
      return { ...event, data: { ...event.data, content: await moveContent(event.data.content) } };
    case 'tool/call':
      return {
        ...event,
        data: { ...event.data, arguments: await moveString(event.data.arguments, JSON_TEXT, move) },
      };
    case 'approval/asked':
      return {
        ...event,
        data: { ...event.data, arguments: await moveString(event.data.arguments, JSON_TEXT, move) },
      };
    case 'turn/end': {
      const { output, structured, ...rest } = event.data;
      return {
        ...event,
        data: {
          ...rest,
          ...(output === undefined ? {} : { output: await moveString(output, TEXT, move) }),
          ...(structured === undefined ? {} : { structured: await moveValue(structured, saveBlob) }),
        },
      };
    }
    default:
      return event;
  }
}

/** The string, read back where it was moved. @throws `StoreError` `LOG_CORRUPT` where its blob is missing. */
export async function wholeString(
  value: string | BlobBlock,
  readBlob: (sha256: Sha256) => Promise<{ readonly bytes: Uint8Array } | undefined>,
): Promise<string> {
  if (typeof value === 'string') return value;
  const blob = await readBlob(value.sha256);
  if (blob === undefined) throw new StoreError('LOG_CORRUPT', `The blob ${value.sha256} is missing.`);
  return textOfBlob(blob.bytes);
}

/** The text that a moved string had, with a byte order mark where it began with one. */
export function textOfBlob(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

type Move = (text: string, mediaType: string) => Promise<string | BlobBlock>;

async function moveString(
  value: string | BlobBlock,
  mediaType: string,
  move: Move,
): Promise<string | BlobBlock> {
  return typeof value === 'string' ? move(value, mediaType) : value;
}

async function moveBlock<B extends { readonly type: string }>(block: B, move: Move): Promise<B> {
  const known: { readonly type: string } = block;
  if (isTextBlock(known)) {
    const moved = await move(known.text, TEXT);
    return typeof moved === 'string' ? block : (moved as InputBlock as unknown as B);
  }
  if (isCallBlock(known)) {
    const moved = await moveString(known.arguments, JSON_TEXT, move);
    return { ...block, arguments: moved };
  }
  return block;
}

function isTextBlock(block: { readonly type: string }): block is { type: 'text'; text: string } {
  return block.type === 'text';
}

function isCallBlock(block: {
  readonly type: string;
}): block is { type: 'tool-call'; arguments: string | BlobBlock } {
  return block.type === 'tool-call';
}

async function toBlob(text: string, mediaType: string, saveBlob: SaveBlob): Promise<string | BlobBlock> {
  if (text.length * 3 <= MAX_INLINE_BYTES) return text;
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= MAX_INLINE_BYTES) return text;
  // UTF-8 cannot spell a lone surrogate: such a text stays in the event, whose JSON can.
  if (textOfBlob(bytes) !== text) return text;
  const sha256 = await saveBlob(bytes, mediaType);
  return { type: 'blob', sha256, bytes: bytes.byteLength, mediaType, ...previewOf(text) };
}

/** A value that only looks like a moved one is moved as well: in the log, one that looks so was moved. */
async function moveValue(value: JsonValue, saveBlob: SaveBlob): Promise<JsonValue> {
  const text = JSON.stringify(value);
  const bytes = new TextEncoder().encode(text);
  if (bytes.byteLength <= MAX_INLINE_BYTES && !isBlobBlock(value)) return value;
  const sha256 = await saveBlob(bytes, JSON_TEXT);
  return { type: 'blob', sha256, bytes: bytes.byteLength, mediaType: JSON_TEXT, ...previewOf(text) };
}

/** The value that {@link moveLargeContent} was given, from what the event holds. */
export async function movedValue(
  value: JsonValue,
  readBlob: (sha256: Sha256) => Promise<Uint8Array>,
): Promise<JsonValue> {
  const block = blobBlockSchema.safeParse(value);
  return block.success ? (JSON.parse(textOfBlob(await readBlob(block.data.sha256))) as JsonValue) : value;
}

function looksMoved(event: NewEvent): boolean {
  return event.type === 'turn/end' && isBlobBlock(event.data.structured);
}

function isBlobBlock(value: JsonValue | undefined): boolean {
  return blobBlockSchema.safeParse(value).success;
}

function mayBeLarge(event: NewEvent): boolean {
  return JSON.stringify(event.data).length * 3 > MAX_INLINE_BYTES;
}
