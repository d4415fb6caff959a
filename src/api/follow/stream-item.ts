/** The things that a stream sends, and their bytes on the wire (WHATWG HTML, server-sent events). */
import type { Frame } from '../../contract/chunks.js';
import type { SessionEvent } from '../../contract/events.js';
import type { TenantChange } from '../../contract/tenant-stream.js';
import type { StreamPosition } from './stream-position.js';

/** An event or a frame; both have an id, which is a cursor. */
export type StreamItem =
  | { readonly kind: 'event'; readonly event: SessionEvent }
  | { readonly kind: 'frame'; readonly frame: Frame };

/** Whether the reader has it, or had it before it came back. */
export function hasItem(position: StreamPosition, item: StreamItem): boolean {
  return item.kind === 'event' ? position.hasEvent(item.event.seq) : position.hasFrame(item.frame.frame);
}

/** Takes the reader past the item and returns the item's id. */
export function passItem(position: StreamPosition, item: StreamItem): string {
  return item.kind === 'event' ? position.passEvent(item.event) : position.passFrame(item.frame);
}

export function renderItem(item: StreamItem, id: string): Buffer {
  return item.kind === 'event'
    ? renderMessage('event', item.event, id)
    : renderMessage('frame', item.frame, id);
}

/** The names of what is sent, to a follower of a session and to one of a tenant. */
export type StreamEventName = 'event' | 'frame' | 'state' | 'end' | 'ping' | TenantChange['type'];

/** One message of a stream. JSON has no line breaks of its own, so the data is one line. */
export function renderMessage(event: StreamEventName, data: unknown, id?: string): Buffer {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return Buffer.from(`${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
