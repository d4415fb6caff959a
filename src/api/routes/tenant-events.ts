/** `GET /v1/events`: what changes in the caller's tenant, as an event stream. */
import { Router } from 'express';
import { isTenantChangeType, type TenantChangeType } from '../../contract/tenant-stream.js';
import type { AppDeps } from '../app-deps.js';
import { createTenantFollower } from '../follow/tenant-follower.js';
import { ProblemError } from '../problem.js';
import { contextOf } from '../request-context.js';
import { parseQuery, queryParameters } from '../request-input.js';

const typesSchema = queryParameters.text.transform((text, context): Set<TenantChangeType> => {
  const types = new Set<TenantChangeType>();
  for (const type of text.split(',')) {
    if (isTenantChangeType(type)) types.add(type);
    else context.addIssue({ code: 'custom', message: `there is no change of a "${type}"` });
  }
  return types;
});

export function tenantEventRoutes(deps: AppDeps): Router {
  const router = Router();
  const follow = createTenantFollower(deps);

  router.get('/v1/events', async (request, response) => {
    const { types } = parseQuery(request, { types: typesSchema.optional() });
    // As for a session: a stream is for those who ask for one, so that a plain call does not hang.
    if (request.accepts(['application/json', 'text/event-stream']) !== 'text/event-stream') {
      throw new ProblemError(
        'INVALID_REQUEST',
        'This is a stream: ask with "Accept: text/event-stream".',
        'Accept',
      );
    }
    await follow({ request, response, tenant: contextOf(request).tenant, types: types ?? null });
  });

  return router;
}
