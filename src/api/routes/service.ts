/** What says how the service is: health, readiness, models and the API's own description. */
import { Router } from 'express';
import type { AppDeps } from '../app-deps.js';
import { describeApi } from '../openapi.js';
import { parseQuery } from '../request-input.js';

export function serviceRoutes(deps: AppDeps): Router {
  const router = Router();
  let description: string | undefined;

  router.get('/healthz', (request, response) => {
    parseQuery(request, {});
    response.json({ status: 'ok', version: deps.settings.version });
  });
  router.get('/readyz', async (request, response) => {
    parseQuery(request, {});
    const readiness = await deps.readiness();
    response.status(readiness.status === 'ready' ? 200 : 503).json(readiness);
  });
  router.get('/v1/models', (request, response) => {
    parseQuery(request, {});
    response.json({ items: deps.models.list(), nextCursor: null });
  });
  router.get('/openapi.json', (request, response) => {
    parseQuery(request, {});
    description ??= JSON.stringify(describeApi(deps.settings.version));
    response.type('application/json').send(description);
  });
  return router;
}
