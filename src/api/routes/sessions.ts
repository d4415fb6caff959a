/** `/v1/sessions`: create, list, show, change and delete. */
import { Router } from 'express';
import {
  sessionBodySchema,
  sessionPatchSchema,
  sessionStatusSchema,
  type SessionPatch,
  type SessionResource,
} from '../../contract/http.js';
import { sessionUidSchema, type SessionId } from '../../contract/ids.js';
import type { NewEvent } from '../../contract/events.js';
import type { SessionRecord } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { bodyDigest } from '../body-digest.js';
import { requestCancel } from '../cancel.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { contextOf, type RequestContext } from '../request-context.js';
import { parseBody, parseQuery, queryParameters } from '../request-input.js';
import { sessionResource } from '../resources.js';
import { checkModelChoice, pinnedChoice } from '../session-choice.js';
import { createSession } from '../session-creation.js';
import { sessionOf } from '../session-lookup.js';
import { removeFreshWorkspace } from '../workspace.js';

export function sessionRoutes(deps: AppDeps, nudge: EngineNudge): Router {
  const { store } = deps;
  const router = Router();
  const resourceOf = async (record: SessionRecord): Promise<SessionResource> =>
    sessionResource(record, await store.readState(record.uid), deps.profiles);

  router.post('/v1/sessions', async (request, response) => {
    parseQuery(request, {});
    const body = parseBody(sessionBodySchema, request);
    if (deps.isDraining())
      throw new ProblemError('DRAINING', 'The server shuts down; ask again in a moment.');
    const { record, created } = await createSession(deps, {
      tenant: contextOf(request).tenant,
      id: body.id ?? (deps.ids.uuid() as SessionId),
      asked: body,
      bodySha256: bodyDigest(body),
    });
    response
      .status(created ? 201 : 200)
      .location(`/v1/sessions/${record.id}`)
      .json(await resourceOf(record));
  });

  router.get('/v1/sessions', async (request, response) => {
    const { limit, cursor, status } = parseQuery(request, {
      limit: queryParameters.limit,
      cursor: sessionUidSchema.optional(),
      status: sessionStatusSchema.optional(),
    });
    const records = await store.listSessions({
      tenant: contextOf(request).tenant,
      limit: limit + 1,
      ...(cursor === undefined ? {} : { before: cursor }),
      ...(status === undefined ? {} : { status }),
    });
    const page = records.slice(0, limit);
    const items: SessionResource[] = [];
    for (const record of page) {
      // One that was deleted since the list was read is left out.
      const found = await store.findSessionByUid(record.uid);
      if (found !== undefined) items.push(await resourceOf(found));
    }
    response.json({ items, nextCursor: records.length > limit ? (page.at(-1)?.uid ?? null) : null });
  });

  router.get('/v1/sessions/:id', async (request, response) => {
    parseQuery(request, {});
    response.json(await resourceOf(await sessionOf(request, store)));
  });

  router.patch('/v1/sessions/:id', async (request, response) => {
    parseQuery(request, {});
    const patch = parseBody(sessionPatchSchema, request);
    const record = await sessionOf(request, store);
    const { profile, provider, model, limits } = patch;
    const choosesModel = [profile, provider, model, limits].some((choice) => choice !== undefined);
    const chosen = choosesModel
      ? pinnedChoice(patch, checkModelChoice(patch, (await store.readState(record.uid)).settings ?? {}, deps))
      : {};
    const events = changesOf({ ...patch, ...chosen }, contextOf(request));
    await store.transact(record.uid, async (transaction) => transaction.append(events));
    response.json(await resourceOf(await sessionOf(request, store)));
  });

  router.delete('/v1/sessions/:id', async (request, response) => {
    parseQuery(request, {});
    const record = await sessionOf(request, store);
    const running = await requestCancel(store, record.uid, { by: contextOf(request).by });
    if (running.kind === 'cancelling') nudge.cancel(record.uid, running.turn);
    await store.deleteSession(record.uid);
    // The data is gone; a folder that cannot be removed must not make the deletion look as if it had failed.
    await removeFreshWorkspace(record.uid, deps.settings).catch((error: unknown) => {
      deps.logger.warn({ err: error, uid: record.uid }, 'the workspace of a deleted session is left behind');
    });
    response.status(204).end();
  });

  return router;
}

/** The facts that a change amounts to. */
function changesOf({ title, ...changes }: SessionPatch, { by }: RequestContext): NewEvent[] {
  return [
    ...(title === undefined
      ? []
      : [{ type: 'session/title', data: { title, source: 'user' } } satisfies NewEvent]),
    ...(Object.keys(changes).length === 0
      ? []
      : [{ type: 'session/settings', data: { changes, by } } satisfies NewEvent]),
  ];
}
