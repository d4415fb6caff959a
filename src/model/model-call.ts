/**
 * The streaming loop that both wires share: one HTTP request, its events translated to chunks, its failures classified.
 *
 * Owns the connection from its opening to its closing. Retries nothing.
 */
import type { ModelChunk } from '../contract/chunks.js';
import {
  classifyHttpFailure,
  classifyStreamError,
  classifyTransportError,
  providerRequestId,
  type FailureContext,
} from './failure-classifier.js';
import { post, type HttpExchange, type HttpRequest, type HttpResponse } from './http-exchange.js';
import { ModelFailure } from './model-failure.js';
import { createSseDecoder } from './sse.js';
import type { StreamTranslator } from './stream-translator.js';
import { createStreamWatchdog, type StreamTimeouts, type StreamWatchdog } from './stream-watchdog.js';

/** As much of an answer that is no stream is read. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

export interface ModelCall {
  readonly request: HttpRequest;
  readonly translator: StreamTranslator;
  readonly timeouts: StreamTimeouts;
  readonly context: FailureContext;
}

/** Runs one attempt. The socket is closed when the iterator ends in any way but a complete answer. */
export async function* streamModelCall(call: ModelCall, signal: AbortSignal): AsyncGenerator<ModelChunk> {
  signal.throwIfAborted();
  const exchange = opened(call);
  let interrupted: ModelFailure | undefined;
  const watchdog = createStreamWatchdog(call.timeouts, (failure) => {
    interrupted = failure;
    exchange.close(failure);
  });
  const abort = (): void => {
    exchange.close(new Error('aborted'));
  };
  signal.addEventListener('abort', abort, { once: true });
  let response: HttpResponse | undefined;
  try {
    response = await watchdog.waiting(exchange.response);
    await requireStream(response, call, watchdog);
    yield* chunksOf(response, call, { watchdog, signal });
  } catch (error) {
    signal.throwIfAborted();
    const failure =
      error instanceof ModelFailure
        ? error
        : (interrupted ?? classifyTransportError(error, call.context, response !== undefined));
    throw failure.completedWith({
      usage: call.translator.usage,
      providerRequestId: response === undefined ? undefined : providerRequestId(response.headers),
    });
  } finally {
    signal.removeEventListener('abort', abort);
    // A complete answer is left to end by itself, so that its connection can serve again.
    if (call.translator.done && response !== undefined) response.drain();
    else exchange.close(new Error('left'));
  }
}

function opened(call: ModelCall): HttpExchange {
  try {
    return post(call.request);
  } catch {
    // Node refuses a header's characters by a TypeError; its text is not passed on, since the header may be the key.
    throw new ModelFailure(
      'INVALID_REQUEST',
      `The request to ${call.context.provider} cannot be sent: its key or a header holds a character that HTTP forbids`,
    );
  }
}

async function* chunksOf(
  response: HttpResponse,
  { translator }: ModelCall,
  { watchdog, signal }: { readonly watchdog: StreamWatchdog; readonly signal: AbortSignal },
): AsyncGenerator<ModelChunk> {
  const decoder = createSseDecoder();
  while (!translator.done) {
    const bytes = await watchdog.waiting(response.read());
    if (bytes === undefined) {
      yield* lastChunks(translator, decoder.end());
      return;
    }
    for (const event of decoder.push(bytes)) {
      const chunks = translator.push(event);
      if (chunks.length > 0) watchdog.content();
      for (const chunk of chunks) {
        signal.throwIfAborted();
        yield chunk;
      }
    }
  }
}

function* lastChunks(
  translator: StreamTranslator,
  events: ReturnType<ReturnType<typeof createSseDecoder>['end']>,
): Generator<ModelChunk> {
  for (const event of events) {
    try {
      yield* translator.push(event);
    } catch (error) {
      // The last event was cut in its middle: that is an answer that ended early, not a malformed one.
      if (!(error instanceof ModelFailure && error.code === 'MALFORMED_RESPONSE')) throw error;
    }
  }
  if (!translator.done) yield* translator.end();
}

async function requireStream(
  response: HttpResponse,
  { context }: ModelCall,
  watchdog: StreamWatchdog,
): Promise<void> {
  const { status, headers } = response;
  const type = headers['content-type'] ?? '';
  const ok = status >= 200 && status < 300;
  if (ok && !/\b(?:json|html)\b/i.test(type)) return;
  const body = await bodyOf(response, watchdog);
  if (!ok) throw classifyHttpFailure({ status, headers, body }, context);
  const error = errorIn(body);
  if (error !== undefined) throw classifyStreamError(error, context);
  throw new ModelFailure(
    'MALFORMED_RESPONSE',
    `${context.provider} answered without a stream (content type ${type.slice(0, 100)})`,
  );
}

/** The start of an answer that is no stream; what was read counts even where the rest is cut off. */
async function bodyOf(response: HttpResponse, watchdog: StreamWatchdog): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    while (bytes < MAX_ERROR_BODY_BYTES) {
      const part = await watchdog.waiting(response.read());
      if (part === undefined) break;
      parts.push(part);
      bytes += part.byteLength;
    }
  } catch {
    // The status says more than the fault that cut the text; an abort is seen by the caller.
  }
  return Buffer.concat(parts).subarray(0, MAX_ERROR_BODY_BYTES).toString('utf8');
}

function errorIn(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && 'error' in parsed ? parsed : undefined;
  } catch {
    return undefined;
  }
}
