/**
 * The seam between Turnkeeper and a model: one adapter for each model of a provider.
 *
 * Owns the interface only. Who retries, and what becomes of the chunks, is decided by the caller.
 */
import type { ModelChunk } from '../contract/chunks.js';
import type { EventData, Wire } from '../contract/events.js';
import type { Sha256 } from '../contract/ids.js';
import type { ModelRequest } from '../contract/messages.js';

/**
 * What decides the request's bytes beside the {@link ModelRequest}: the model's abilities and the provider's spelling.
 * Stored in `request/header`, so that the request of a past step can be made again after the configuration changed.
 */
export type AdapterDefaults = EventData<'request/header'>['adapterDefaults'];

/** Reads the bytes of a blob; rejects where it is missing. */
export type ReadBlob = (sha256: Sha256) => Promise<Uint8Array>;

export interface StreamOptions {
  /** Closes the connection at once; the iterator then throws the signal's reason as it is. */
  readonly signal: AbortSignal;
  readonly readBlob: ReadBlob;
}

export interface ModelAdapter {
  readonly wire: Wire;
  readonly adapterDefaults: AdapterDefaults;
  /**
   * One attempt. Yields chunks that end with exactly one `finish`, which is never `aborted`; `usage` may come more than
   * once and the last one counts.
   *
   * @throws {ModelFailure} by code (WIRES 4), and nothing else but the signal's reason and what `readBlob` throws.
   */
  stream(request: ModelRequest, options: StreamOptions): AsyncIterable<ModelChunk>;
}
