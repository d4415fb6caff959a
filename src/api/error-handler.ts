/** The end of every request that failed: one place where problems are logged and written. */
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { ProblemError, problemOf } from './problem.js';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** Writes a thrown error as `application/problem+json`. A stream that has begun is cut instead: readers come back. */
export function createErrorHandler(logger: Logger): ErrorRequestHandler {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- Express tells an error handler by its four parameters.
  return (error: unknown, request, response, next) => {
    const problem = problemOf(error);
    if (problem.status >= 500) {
      logger.error({ err: error, method: request.method, path: request.path }, 'request failed');
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    writeProblem(response, problem);
  };
}

/** Answers what no route has taken. */
export const refuseUnknownRoute: RequestHandler = (request) => {
  throw new ProblemError('NOT_FOUND', `There is no ${request.method} ${request.path}.`);
};

function writeProblem(response: Response, problem: ProblemError): void {
  const isPassing = problem.code === 'DRAINING' || problem.code === 'STORE_UNAVAILABLE';
  const retryAfter = problem.retryAfterSeconds ?? (isPassing ? 1 : undefined);
  if (retryAfter !== undefined) response.set('retry-after', String(retryAfter));
  // RFC 9110, section 11.6.1: an answer 401 names how to authenticate.
  if (problem.code === 'UNAUTHENTICATED') response.set('www-authenticate', 'Bearer realm="turnkeeper"');
  response.status(problem.status).type(PROBLEM_CONTENT_TYPE).send(JSON.stringify(problem.toProblem()));
}
