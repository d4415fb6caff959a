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
  if (problem.code === 'DRAINING' || problem.code === 'STORE_UNAVAILABLE') response.set('retry-after', '1');
  response.status(problem.status).type(PROBLEM_CONTENT_TYPE).send(JSON.stringify(problem.toProblem()));
}
