/** Builds the HTTP API. Owns the order in which a request passes its guards, body and routes; listening is the runtime's. */
import express, { type Express } from 'express';
import helmet from 'helmet';
import type { AppDeps } from './app-deps.js';
import { createAuthentication } from './auth/authenticate.js';
import { createEngineNudge } from './engine-nudge.js';
import { createErrorHandler, refuseUnknownRoute } from './error-handler.js';
import { createJsonBody } from './json-body.js';
import { createMethodGuard } from './method-guard.js';
import { createOriginGuard } from './origin-guard.js';
import { approvalRoutes } from './routes/approvals.js';
import { blobRoutes } from './routes/blobs.js';
import { cancelRoutes } from './routes/cancel.js';
import { docsRoutes } from './routes/docs.js';
import { eventRoutes } from './routes/events.js';
import { jobRoutes } from './routes/jobs.js';
import { messageRoutes } from './routes/messages.js';
import { metricsRoutes } from './routes/metrics.js';
import { promptRoutes } from './routes/prompts.js';
import { questionRoutes } from './routes/questions.js';
import { queueRoutes } from './routes/queue.js';
import { serviceRoutes } from './routes/service.js';
import { sessionArchiveRoutes } from './routes/session-archive.js';
import { sessionRoutes } from './routes/sessions.js';
import { tenantEventRoutes } from './routes/tenant-events.js';
import { turnRoutes } from './routes/turns.js';

/** The API as an Express application over its dependencies. */
export function createApp(deps: AppDeps): Express {
  const { settings } = deps;
  const nudge = createEngineNudge(deps);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.set('case sensitive routing', true);

  // A server in a private network is reached over plain HTTP: its pages' parts must not be asked for over TLS.
  app.use(helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } }));
  app.use((_request, response, next) => {
    response.set('cache-control', 'no-store');
    next();
  });
  app.use(
    createOriginGuard({
      allowedHosts: settings.allowedHosts,
      allowedOrigins: settings.allowedOrigins ?? [],
    }),
  );
  app.use(createAuthentication(deps));
  app.use(createMethodGuard());
  app.use(blobRoutes(deps));
  app.use(sessionArchiveRoutes(deps, nudge));
  app.use(createJsonBody(settings.bodyLimitBytes));

  app.use(serviceRoutes(deps));
  app.use(docsRoutes(settings.version));
  app.use(metricsRoutes(deps));
  app.use(sessionRoutes(deps, nudge));
  app.use(promptRoutes(deps, nudge));
  app.use(queueRoutes(deps, nudge));
  app.use(cancelRoutes(deps, nudge));
  app.use(turnRoutes(deps));
  app.use(jobRoutes(deps, nudge));
  app.use(approvalRoutes(deps, nudge));
  app.use(questionRoutes(deps, nudge));
  app.use(eventRoutes(deps));
  app.use(tenantEventRoutes(deps));
  app.use(messageRoutes(deps));

  app.use(refuseUnknownRoute);
  app.use(createErrorHandler(deps.logger));
  return app;
}
