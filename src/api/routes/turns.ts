/** `GET …/turns` and `GET …/turns/:n`, which can wait for the turn's end. */
import { Router } from 'express';
import type { TurnResource } from '../../contract/http.js';
import type { AppDeps } from '../app-deps.js';
import { ProblemError } from '../problem.js';
import { parseQuery, queryParameters, turnNumberOf } from '../request-input.js';
import { endedTurnResource, readTurn } from '../resources.js';
import { sessionOf } from '../session-lookup.js';
import { waitForTurn } from '../turn-wait.js';

export function turnRoutes({ store }: AppDeps): Router {
  const router = Router();

  router.get('/v1/sessions/:id/turns', async (request, response) => {
    const { limit, cursor } = parseQuery(request, {
      limit: queryParameters.limit,
      cursor: queryParameters.ordinal.optional(),
    });
    const session = await sessionOf(request, store);
    const records = await store.listTurns(session.uid, {
      limit: limit + 1,
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    const page = records.slice(0, limit);
    const items: TurnResource[] = [];
    for (const record of page) {
      const resource = record.ended
        ? await endedTurnResource(store, record)
        : await readTurn(store, session, record.turn);
      if (resource !== undefined) items.push(resource);
    }
    response.json({ items, nextCursor: records.length > limit ? String(page.at(-1)?.turn) : null });
  });

  router.get('/v1/sessions/:id/turns/:turn', async (request, response) => {
    const { wait } = parseQuery(request, { wait: queryParameters.wait.optional() });
    const turn = turnNumberOf(request);
    const session = await sessionOf(request, store);
    const resource = await waitForTurn(store, session, turn, { seconds: wait ?? 0, response });
    if (resource === undefined) throw new ProblemError('NOT_FOUND', 'There is no such turn.');
    response.json(resource);
  });

  return router;
}
