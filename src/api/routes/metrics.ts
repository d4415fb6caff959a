/** `GET /metrics`: the numbers of this process for Prometheus. */
import { Router } from 'express';
import type { AppDeps } from '../app-deps.js';
import { parseQuery } from '../request-input.js';

export function metricsRoutes({ metrics }: Pick<AppDeps, 'metrics'>): Router {
  const router = Router();
  router.get('/metrics', async (request, response) => {
    parseQuery(request, {});
    const text = await metrics.read();
    response.set('content-type', metrics.contentType).send(text);
  });
  return router;
}
