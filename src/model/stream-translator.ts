/** What a wire gives to the shared streaming loop: events in, chunks out. */
import type { ModelChunk } from '../contract/chunks.js';
import type { Usage } from '../contract/usage.js';
import type { ServerSentEvent } from './sse.js';

/** The state of one answer; pure, and made anew for each attempt. Its methods throw ModelFailure. */
export interface StreamTranslator {
  /** Whether the provider said that its answer is complete; what follows is not looked at. */
  readonly done: boolean;
  /** What the provider said so far about usage. */
  readonly usage: Usage | undefined;
  push(event: ServerSentEvent): readonly ModelChunk[];
  /** The stream ended. @throws {ModelFailure} STREAM_CLOSED unless the wire takes that for the end of an answer. */
  end(): readonly ModelChunk[];
}
