/**
 * Server-sent events from bytes, over eventsource-parser.
 *
 * Owns decoding: chunks may split anywhere, inside a code point or between CR and LF; a BOM, comments and unknown fields
 * are skipped. Knows nothing of providers.
 */
import { createParser } from 'eventsource-parser';
import { ModelFailure } from './model-failure.js';

/** The longest event that is buffered while its end has not come, in characters. */
export const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;

export interface ServerSentEvent {
  /** The `event:` field, where there was one. */
  readonly event?: string | undefined;
  readonly data: string;
}

export interface SseDecoder {
  /** The events that these bytes complete. @throws {ModelFailure} MALFORMED_RESPONSE where an event grows too long. */
  push(bytes: Uint8Array): readonly ServerSentEvent[];
  /** The event that the end of the stream left open, for servers that leave out its blank line. It may be cut. */
  end(): readonly ServerSentEvent[];
}

export function createSseDecoder(): SseDecoder {
  const text = new TextDecoder();
  let events: ServerSentEvent[] = [];
  let overflow = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: ({ event, data }) => {
      events.push({ event, data });
    },
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') overflow = true;
    },
  });
  const feed = (chunk: string): readonly ServerSentEvent[] => {
    parser.feed(chunk);
    if (overflow) {
      throw new ModelFailure(
        'MALFORMED_RESPONSE',
        `The answer holds an event of over ${String(MAX_EVENT_CHARACTERS)} characters`,
      );
    }
    const complete = events;
    events = [];
    return complete;
  };
  return {
    push: (bytes) => feed(text.decode(bytes, { stream: true })),
    end: () => feed(`${text.decode()}\n\n`),
  };
}
