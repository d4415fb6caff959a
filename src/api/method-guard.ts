/**
 * Answers the methods that a path does not have, before a route sees them: 405 with `Allow` (RFC 9110, section 15.5.6),
 * and to `OPTIONS` the list alone.
 *
 * Knows the methods from the API's description; what is not described passes.
 */
import type { RequestHandler } from 'express';
import { DESCRIBED_METHODS } from './openapi.js';
import { ProblemError } from './problem.js';

/** @throws `ProblemError` `METHOD_NOT_ALLOWED`, with `Allow` set on the answer. */
export function createMethodGuard(): RequestHandler {
  const routes = Object.entries(DESCRIBED_METHODS).map(([path, methods]) => ({
    path: patternOf(path),
    methods,
  }));
  return (request, response, next) => {
    const methods = routes.filter(({ path }) => path.test(request.path)).flatMap((route) => route.methods);
    if (methods.length === 0 || methods.includes(request.method)) {
      next();
      return;
    }
    const allowed = [...new Set([...methods, 'OPTIONS'])].sort().join(', ');
    response.set('allow', allowed);
    if (request.method !== 'OPTIONS') {
      throw new ProblemError(
        'METHOD_NOT_ALLOWED',
        `${request.path} takes ${allowed}, and no ${request.method}.`,
      );
    }
    response.status(204).end();
  };
}

/** Express takes a path in any case and with a slash at its end, so the pattern does too. */
function patternOf(path: string): RegExp {
  const pattern = path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+');
  return new RegExp(`^${pattern}/?$`, 'i');
}
