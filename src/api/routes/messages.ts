/** `GET …/messages`: what a model is shown of the session, oldest first. */
import { Router } from 'express';
import { SURFACE_EVENT_TYPES } from '../../contract/events.js';
import { PAGE_LIMIT } from '../../contract/http.js';
import type { SessionUid } from '../../contract/ids.js';
import type { Message } from '../../contract/messages.js';
import { conversationOf, EMPTY_MESSAGES, foldMessages } from '../../core/messages.js';
import type { SessionStore } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { ProblemError } from '../problem.js';
import { parseQuery, queryParameters } from '../request-input.js';
import { sessionOf } from '../session-lookup.js';

export function messageRoutes({ store }: AppDeps): Router {
  const router = Router();
  router.get('/v1/sessions/:id/messages', async (request, response) => {
    const { limit, cursor } = parseQuery(request, {
      limit: queryParameters.limit,
      cursor: queryParameters.seq.optional(),
    });
    const session = await sessionOf(request, store);
    const messages = await readMessages(store, session.uid);
    // Messages that were summed up stand where the old ones stood, so the place of the cursor's message counts, not its seq.
    const place = cursor === undefined ? -1 : messages.findIndex(({ seq }) => seq === cursor);
    if (cursor !== undefined && place === -1) {
      throw new ProblemError(
        'INVALID_CURSOR',
        '"cursor": no message of the session has this cursor.',
        'cursor',
      );
    }
    const items = messages.slice(place + 1, place + 1 + limit);
    const last = items.at(-1);
    const hasMore = place + 1 + limit < messages.length;
    response.json({ items, nextCursor: hasMore && last !== undefined ? String(last.seq) : null });
  });
  return router;
}

async function readMessages(store: SessionStore, uid: SessionUid): Promise<readonly Message[]> {
  let fold = EMPTY_MESSAGES;
  for (;;) {
    const events = await store.readEvents(uid, {
      after: fold.headSeq,
      limit: PAGE_LIMIT.max,
      types: SURFACE_EVENT_TYPES,
    });
    fold = foldMessages(events, fold);
    if (events.length < PAGE_LIMIT.max) return conversationOf(fold).messages;
  }
}
