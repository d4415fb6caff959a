/** `GET …/events`, as a page of the log or as the event stream, by what the caller accepts. */
import { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { isEventType, type EventType, type SessionEvent } from '../../contract/events.js';
import type { Page } from '../../contract/http.js';
import type { AppDeps } from '../app-deps.js';
import { parseCursor } from '../follow/cursor.js';
import { createFollower } from '../follow/follower.js';
import { ProblemError } from '../problem.js';
import { parseQuery, queryParameters } from '../request-input.js';
import { sessionOf } from '../session-lookup.js';

const typesSchema = queryParameters.text.transform((text, context): EventType[] => {
  const types: EventType[] = [];
  for (const type of text.split(',')) {
    if (isEventType(type)) types.push(type);
    else context.addIssue({ code: 'custom', message: `there is no event type "${type}"` });
  }
  return types;
});

export function eventRoutes(deps: AppDeps): Router {
  const { store } = deps;
  const router = Router();
  const follow = createFollower(deps);

  router.get('/v1/sessions/:id/events', async (request, response) => {
    // The first one is what a caller gets that takes both.
    if (request.accepts(['application/json', 'text/event-stream']) === 'text/event-stream') {
      await stream(request, response);
    } else {
      await page(request, response);
    }
  });

  async function stream(request: Request<{ id: string }>, response: Response): Promise<void> {
    const { after, until, turn, types } = parseQuery(request, {
      after: queryParameters.text.optional(),
      types: typesSchema.optional(),
      until: z.literal('turn-end').optional(),
      turn: queryParameters.ordinal.optional(),
    });
    if (turn !== undefined && until === undefined) {
      throw new ProblemError('INVALID_REQUEST', '"turn": needs "until=turn-end".', 'turn');
    }
    const lastEventId = request.get('last-event-id');
    const cursor = parseCursor(lastEventId ?? after, lastEventId === undefined ? 'after' : 'Last-Event-ID');
    const session = await sessionOf(request, store);
    await follow({
      request,
      response,
      session,
      cursor,
      until: until === undefined ? null : { turn: turn ?? null },
      types: types === undefined ? null : new Set(types),
    });
  }

  async function page(request: Request<{ id: string }>, response: Response): Promise<void> {
    const query = parseQuery(request, {
      limit: queryParameters.limit,
      after: queryParameters.seq.optional(),
      before: queryParameters.seq.optional(),
      types: typesSchema.optional(),
    });
    const { limit, after } = query;
    // Before the first event there is nothing, wherever that is said to be.
    const before = query.before === undefined ? undefined : Math.max(0, query.before);
    if (after !== undefined && before !== undefined) {
      throw new ProblemError('INVALID_REQUEST', 'Give either "after" or "before".', 'before');
    }
    const session = await sessionOf(request, store);
    const types = query.types === undefined ? {} : { types: query.types };
    const read = (range: { after?: number; before?: number; limit: number }) =>
      store.readEvents(session.uid, { ...range, ...types });

    let items: readonly SessionEvent[];
    let hasMore: boolean;
    if (before === undefined) {
      const events = await read({ after: after ?? -1, limit: limit + 1 });
      items = events.slice(0, limit);
      hasMore = events.length > limit;
    } else {
      items = await read({ before, limit });
      hasMore = (await read({ after: items.at(-1)?.seq ?? before - 1, limit: 1 })).length > 0;
    }
    const last = items.at(-1)?.seq ?? (before ?? 0) - 1;
    response.json({ items, nextCursor: hasMore ? last : null } satisfies Page<SessionEvent, number>);
  }

  return router;
}
