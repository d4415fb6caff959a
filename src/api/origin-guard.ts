/**
 * Keeps foreign web pages out: the Host header against DNS rebinding, Origin against cross-site posts.
 *
 * CORS is closed: but for origins that the operator lists, a page of another origin can read nothing either. Credentials
 * are never shared; such a page brings its key as every caller does.
 */
import type { Request, RequestHandler, Response } from 'express';
import { ProblemError } from './problem.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** What a page of a listed origin may send beside what every page may (Fetch standard, CORS-safelisted headers). */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id, prefer',
  'access-control-max-age': '600',
} as const;

export interface OriginGuardOptions {
  /** Null is any host. */
  readonly allowedHosts: readonly string[] | null;
  /** Origins as browsers send them. */
  readonly allowedOrigins: readonly string[];
}

/** Refuses requests that name a foreign host, or change something on behalf of another origin. Answers preflights. */
export function createOriginGuard({ allowedHosts, allowedOrigins }: OriginGuardOptions): RequestHandler {
  const allowed = allowedHosts === null ? null : new Set(allowedHosts.map((host) => host.toLowerCase()));
  const friends = new Set(allowedOrigins);
  return (request, response, next) => {
    const host = hostNameOf(request.headers.host);
    if (allowed !== null && (host === undefined || !allowed.has(host))) {
      throw new ProblemError(
        'FORBIDDEN_HOST',
        `This server answers to ${[...allowed].join(', ')} only; the request names another host.`,
        'Host',
      );
    }
    if (friends.size > 0) response.vary('origin');
    if (request.headers.origin !== undefined && friends.has(request.headers.origin)) {
      welcome(request.headers.origin, request, response, next);
      return;
    }
    if (!SAFE_METHODS.has(request.method) && isForeign(request)) {
      throw new ProblemError(
        'FORBIDDEN_ORIGIN',
        'A web page of another origin may not change anything here.',
        'Origin',
      );
    }
    next();
  };
}

/** A page of a listed origin: it may read the answer, and what it asks for before is answered here. */
function welcome(origin: string, request: Request, response: Response, next: () => void): void {
  response.set('access-control-allow-origin', origin);
  response.set('access-control-expose-headers', 'location, retry-after');
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
    next();
    return;
  }
  response.status(204).set(PREFLIGHT_HEADERS).end();
}

/** Browsers send `Origin` with everything that is not a plain read, `null` where they hide it. */
function isForeign(request: Request): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return request.headers['sec-fetch-site'] === 'cross-site';
  return !URL.canParse(origin) || new URL(origin).host !== hostOf(host);
}

/** The Host header's name without its port, lower-case; an IPv6 address keeps its brackets. */
function hostNameOf(header: string | undefined): string | undefined {
  return hostUrl(header)?.hostname;
}

function hostOf(header: string | undefined): string | undefined {
  return hostUrl(header)?.host;
}

function hostUrl(header: string | undefined): URL | undefined {
  if (header === undefined || !/^[A-Za-z0-9.:[\]_-]+$/.test(header)) return undefined;
  return URL.canParse(`http://${header}`) ? new URL(`http://${header}`) : undefined;
}
