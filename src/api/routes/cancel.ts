/** `POST …/cancel` and `POST …/turns/:n/cancel`. */
import { Router, type Request, type Response } from 'express';
import { assertNever } from '../../contract/failures.js';
import { cancelBodySchema, type CancelAnswer } from '../../contract/http.js';
import type { AppDeps } from '../app-deps.js';
import { requestCancel } from '../cancel.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { contextOf } from '../request-context.js';
import { parseOptionalBody, parseQuery, turnNumberOf } from '../request-input.js';
import { sessionOf } from '../session-lookup.js';

export function cancelRoutes({ store }: AppDeps, nudge: EngineNudge): Router {
  const router = Router();

  const cancel = async (request: Request<{ id: string }>, response: Response, turn?: number) => {
    parseQuery(request, {});
    const { cause } = parseOptionalBody(cancelBodySchema, request);
    const session = await sessionOf(request, store);
    const outcome = await requestCancel(store, session.uid, {
      by: contextOf(request).by,
      cause,
      ...(turn === undefined ? {} : { turn }),
    });
    const answer = (status: number, body: CancelAnswer) => response.status(status).json(body);
    switch (outcome.kind) {
      case 'cancelling':
        // Also when it was asked before: the nudge may have been lost.
        nudge.cancel(session.uid, outcome.turn);
        return answer(202, { cancelled: true, turn: outcome.turn });
      case 'ended':
        return answer(200, { cancelled: false, turn: outcome.turn });
      case 'idle':
        return answer(200, { cancelled: false, turn: null });
      case 'no-such-turn':
        throw new ProblemError('NOT_FOUND', 'There is no such turn.');
      default:
        return assertNever(outcome);
    }
  };

  router.post('/v1/sessions/:id/cancel', async (request, response) => {
    await cancel(request, response);
  });
  router.post('/v1/sessions/:id/turns/:turn/cancel', async (request, response) => {
    await cancel(request, response, turnNumberOf(request));
  });
  return router;
}
