/** The bytes of an HTTP answer: decompressed, and no more of them than a bound. */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { WebRequestError } from './web-request-error.js';

/** The encodings that {@link readBoundedBody} reads, for `Accept-Encoding`. */
export const ACCEPTED_ENCODINGS = 'gzip, br';

export interface BoundedBody {
  readonly bytes: Buffer;
  /** The answer goes on after `bytes`. */
  readonly truncated: boolean;
}

/**
 * Reads until the end or until `maxBytes` decoded bytes are there; then the connection is closed.
 *
 * Decoding is pulled by reading, so that an answer that unpacks to gigabytes costs no more than the bound.
 * @throws {WebRequestError} INVALID_RESPONSE for an encoding that was not asked for; the error of the stream otherwise.
 */
export async function readBoundedBody(message: IncomingMessage, maxBytes: number): Promise<BoundedBody> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of decoded(message) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    // Leaving the loop destroys the stream, and with it the socket.
    if (length > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks, Math.min(length, maxBytes)), truncated: length > maxBytes };
}

function decoded(message: IncomingMessage): Readable {
  const encoding = (message.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  switch (encoding) {
    case '':
    case 'identity':
      return message;
    case 'gzip':
    case 'x-gzip':
      return pipeline(message, createGunzip(), ignoreSecondReport);
    case 'br':
      return pipeline(message, createBrotliDecompress(), ignoreSecondReport);
    default:
      message.destroy();
      throw new WebRequestError(
        'INVALID_RESPONSE',
        `The answer is encoded as ${JSON.stringify(encoding.slice(0, 40))}, which cannot be read.`,
      );
  }
}

/** The reader of the pipeline's end gets its errors; this swallows the same report to the pipeline. */
function ignoreSecondReport(): void {
  return undefined;
}
