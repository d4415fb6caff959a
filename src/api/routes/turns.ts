/** `GET …/turns` and `GET …/turns/:n`, which can wait for the turn's end. */
import { Router } from 'express';
import type { TurnResource } from '../../contract/http.js';
import type { AppDeps } from '../app-deps.js';
import { ProblemError } from '../problem.js';
import { parseQuery, queryParameters, turnNumberOf } from '../request-input.js';
import { endedTurnResource, openTurnResource } from '../resources.js';
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
    // The rows first: a turn that ends meanwhile is in the list once, as ended or as open.
    const state = await store.readState(session.uid);
    const open = state.openTurn;
    const records = await store.listTurns(session.uid, {
      limit: limit + 1,
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    const items: TurnResource[] = [];
    const isOpenListed = open !== null && (cursor === undefined || open.number < cursor);
    const endedOpen = records.some((record) => record.ended && record.turn === open?.number);
    if (isOpenListed && !endedOpen) items.push(openTurnResource(session, state, open));
    for (const record of records) {
      if (record.ended) items.push(await endedTurnResource(store, record));
    }
    const page = items.slice(0, limit);
    response.json({ items: page, nextCursor: items.length > limit ? String(page.at(-1)?.turn) : null });
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
