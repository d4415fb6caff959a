/** `/v1/sessions`: create, list, show, change and delete. */
import { Router } from 'express';
import { z } from 'zod';
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
import { permissionToPatch, requireWorkspace } from '../auth/key-limits.js';
import { bodyDigest } from '../body-digest.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { contextOf, type RequestContext } from '../request-context.js';
import { parseBody, parseQuery, queryParameters } from '../request-input.js';
import { sessionResource } from '../resources.js';
import { checkModelChoice, pinnedChoice } from '../session-choice.js';
import { createSession } from '../session-creation.js';
import { deleteSession, deleteUnchangedSession } from '../session-deletion.js';
import { sessionOf } from '../session-lookup.js';
import { unlessUnreadable } from '../unless-deleted.js';

/** ISO 8601, as the log has times. */
const timeSchema = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-01-31T12:00:00Z' })
  .transform((text) => new Date(text).toISOString());

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
      context: contextOf(request),
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
      const item = await unlessUnreadable(() => resourceOf(record));
      if (item !== undefined) items.push(item);
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
    const context = contextOf(request);
    await requireWorkspace(record.uid, context, deps);
    await store.transact(record.uid, async (transaction) => {
      const permission = permissionToPatch(patch, transaction.state.settings, context, deps);
      await transaction.append(
        changesOf({ ...patch, ...chosen, ...(permission === undefined ? {} : { permission }) }, context),
      );
    });
    response.json(await resourceOf(await sessionOf(request, store)));
  });

  router.delete('/v1/sessions/:id', async (request, response) => {
    const { unchangedSince } = parseQuery(request, {
      unchangedSince: timeSchema.optional(),
    });
    const record = await sessionOf(request, store);
    const { tenant, by } = contextOf(request);
    if (unchangedSince === undefined) await deleteSession(deps, nudge, record, by);
    else if (!(await deleteUnchangedSession(deps, record, unchangedSince))) throw changed(record);
    // The log that would name who did it is gone with it.
    deps.logger.info({ tenant, session: record.id, uid: record.uid, by }, 'a session was deleted');
    response.status(204).end();
  });

  return router;
}

function changed({ id }: SessionRecord): ProblemError {
  return new ProblemError(
    'SESSION_CHANGED',
    `Session ${id} was changed after that time, or a turn is open in it.`,
    'unchangedSince',
  );
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
