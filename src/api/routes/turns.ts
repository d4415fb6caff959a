/** `GET /v1/turns`, `GET …/turns` and `GET …/turns/:n`, which can wait for the turn's end. */
import { Router } from 'express';
import type { AppDeps } from '../app-deps.js';
import { ProblemError } from '../problem.js';
import { parseQuery, queryParameters, turnNumberOf } from '../request-input.js';
import { contextOf } from '../request-context.js';
import { sessionOf } from '../session-lookup.js';
import { parseTurnQuery, turnCursor, turnCursorSchema, turnResources } from '../turn-list.js';
import { unlessDeleted, unlessUnreadable } from '../unless-deleted.js';
import { waitForTurn } from '../turn-wait.js';

export function turnRoutes({ store }: AppDeps): Router {
  const router = Router();

  router.get('/v1/turns', async (request, response) => {
    const { filter, limit, cursor } = parseTurnQuery(request, turnCursorSchema);
    const records = await store.listTurnsOfTenant(contextOf(request).tenant, {
      ...filter,
      limit: limit + 1,
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    const page = records.slice(0, limit);
    const last = page.at(-1);
    response.json({
      items: await turnResources(store, page, unlessUnreadable),
      nextCursor: records.length > limit && last !== undefined ? turnCursor(last) : null,
    });
  });

  router.get('/v1/sessions/:id/turns', async (request, response) => {
    const { filter, limit, cursor } = parseTurnQuery(request, queryParameters.ordinal.optional());
    const session = await sessionOf(request, store);
    const records = await store.listTurns(session.uid, {
      ...filter,
      limit: limit + 1,
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    const page = records.slice(0, limit);
    response.json({
      items: await turnResources(store, page, unlessDeleted),
      nextCursor: records.length > limit ? String(page.at(-1)?.turn) : null,
    });
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
