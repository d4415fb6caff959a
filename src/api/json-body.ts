/** Reads JSON bodies: type, size, encoding and syntax. What they must hold is checked by each route. */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import express, { type RequestHandler } from 'express';
import { ProblemError } from './problem.js';

/** Parses `application/json` bodies of at most `limitBytes`; any other body is refused. */
export function createJsonBody(limitBytes: number): RequestHandler {
  const parse: RequestHandler = express.json({ limit: limitBytes, type: isJson, verify: refuseBrokenUtf8 });
  return (request, response, next) => {
    if (hasBody(request) && !isJson(request)) {
      throw new ProblemError(
        'UNSUPPORTED_MEDIA_TYPE',
        'A body needs "Content-Type: application/json".',
        'Content-Type',
      );
    }
    if (!isUtf8Declared(request)) {
      // RFC 8259, section 8.1: JSON that systems exchange is UTF-8.
      throw new ProblemError('UNSUPPORTED_MEDIA_TYPE', 'The charset of a body is UTF-8.', 'Content-Type');
    }
    parse(request, response, (error?: unknown) => {
      if (error === undefined) next();
      else next(problemOfParser(error, limitBytes));
    });
  };
}

interface WithHeaders {
  readonly headers: IncomingHttpHeaders;
}

function hasBody({ headers }: WithHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function isJson({ headers }: WithHeaders): boolean {
  return /^\s*application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}

function isUtf8Declared({ headers }: WithHeaders): boolean {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '')?.[1];
  return charset === undefined || /^utf-?8$/i.test(charset);
}

/** A prompt with characters that were replaced in silence would not be the caller's prompt. */
function refuseBrokenUtf8(_request: unknown, _response: unknown, body: Buffer): void {
  if (!isUtf8(body)) throw new Error('not valid UTF-8');
}

/** The problem of an error of body-parser, which tells its kind in `type`. */
function problemOfParser(error: unknown, limitBytes: number): unknown {
  if (typeof error !== 'object' || error === null || !('type' in error)) return error;
  switch (error.type) {
    case 'entity.too.large':
      return new ProblemError(
        'PAYLOAD_TOO_LARGE',
        `The body is larger than ${String(limitBytes)} bytes (server.bodyLimitBytes).`,
      );
    case 'entity.parse.failed':
      return new ProblemError('INVALID_REQUEST', 'The body is not valid JSON.');
    case 'charset.unsupported':
    case 'encoding.unsupported':
      return new ProblemError('UNSUPPORTED_MEDIA_TYPE', 'The content encoding of the body is not supported.');
    case 'entity.verify.failed':
      return new ProblemError('INVALID_REQUEST', 'The body is not valid UTF-8.');
    case 'request.aborted':
    case 'request.size.invalid':
      return new ProblemError('INVALID_REQUEST', 'The body could not be read.');
    default:
      return error;
  }
}
