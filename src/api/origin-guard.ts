/**
 * Keeps foreign web pages out: the Host header against DNS rebinding, Origin against cross-site posts.
 *
 * No CORS header is ever sent, so that a page of another origin can read nothing either.
 */
import type { Request, RequestHandler } from 'express';
import { ProblemError } from './problem.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Refuses requests that name a foreign host, or change something on behalf of another origin. */
export function createOriginGuard(allowedHosts: readonly string[] | null): RequestHandler {
  const allowed = allowedHosts === null ? null : new Set(allowedHosts.map((host) => host.toLowerCase()));
  return (request, _response, next) => {
    const host = hostNameOf(request.headers.host);
    if (allowed !== null && (host === undefined || !allowed.has(host))) {
      throw new ProblemError(
        'FORBIDDEN_HOST',
        `This server answers to ${[...allowed].join(', ')} only; the request names another host.`,
        'Host',
      );
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
