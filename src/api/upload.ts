/** Reads an uploaded body: its type, its size, and whether the bytes can be what the type says. */
import { isUtf8 } from 'node:buffer';
import type { Request } from 'express';
import { canBe, isTextType } from '../core/media.js';
import { ProblemError } from './problem.js';
import { essenceOf } from './prompt-content.js';

/** The largest upload where nothing else is configured. */
export const UPLOAD_LIMIT_BYTES = 32 * 1024 * 1024;

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
/** What forms send: their body is no file but an envelope around some. */
const FORM_TYPE = /^(?:multipart\/.*|application\/x-www-form-urlencoded)$/;

export interface Upload {
  readonly bytes: Uint8Array;
  /** In lower case, without parameters. */
  readonly mediaType: string;
}

/**
 * Reads the upload, never more than the limit of it.
 *
 * @throws `ProblemError` `UNSUPPORTED_MEDIA_TYPE` for a type that is missing, of a form, or not that of the bytes,
 *   `PAYLOAD_TOO_LARGE`, `INVALID_REQUEST` for no bytes.
 */
export async function readUpload(request: Request, limitBytes: number): Promise<Upload> {
  const mediaType = uploadedType(request);
  const bytes = await readBytes(request, limitBytes);
  if (bytes.byteLength === 0) throw new ProblemError('INVALID_REQUEST', 'The body is empty.');
  if (!canBe(mediaType, bytes)) throw unsupported(`The bytes are not ${mediaType}.`);
  if (isTextType(mediaType) && !isUtf8(bytes)) throw unsupported('The bytes are not text in UTF-8.');
  return { bytes, mediaType };
}

function uploadedType(request: Request): string {
  const header = request.get('content-type') ?? '';
  const mediaType = essenceOf(header);
  if (!MEDIA_TYPE.test(mediaType) || FORM_TYPE.test(mediaType)) {
    throw unsupported(
      'The body is the bytes of one file, and "Content-Type" its media type, such as image/png.',
    );
  }
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(header)?.[1];
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    throw unsupported('The charset of a text is UTF-8.');
  }
  if ((request.get('content-encoding') ?? 'identity') !== 'identity') {
    throw new ProblemError('UNSUPPORTED_MEDIA_TYPE', 'Uploads are not compressed.', 'Content-Encoding');
  }
  return mediaType;
}

async function readBytes(request: Request, limitBytes: number): Promise<Uint8Array> {
  if (Number(request.get('content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // The socket stays open after a refusal, which has to get back over it.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.byteLength;
      if (length > limitBytes) throw tooLarge(limitBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    // The caller went away in the middle; nobody reads the answer.
    throw new ProblemError('INVALID_REQUEST', 'The body could not be read.');
  }
  return Buffer.concat(chunks, length);
}

function tooLarge(limitBytes: number): ProblemError {
  return new ProblemError(
    'PAYLOAD_TOO_LARGE',
    `The upload is larger than ${String(limitBytes)} bytes (server.uploadLimitBytes).`,
  );
}

function unsupported(detail: string): ProblemError {
  return new ProblemError('UNSUPPORTED_MEDIA_TYPE', detail, 'Content-Type');
}
