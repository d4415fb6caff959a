/**
 * `GET /docs`: the API's description as a page, on which every call can be tried.
 *
 * Owns the page; what is shown is `/openapi.json`, and what shows it comes from the package `swagger-ui-dist`, whole and
 * from this server, so that the page works without a network.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Router } from 'express';
import { parseQuery } from '../request-input.js';

/** Of the package's files those that the page asks for. */
const FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const;
const INITIALIZER = 'initializer.js';
/** They change with the version of this server only, which is in their address. */
const FOR_EVER = 'public, max-age=31536000, immutable';

export function docsRoutes(version: string): Router {
  const router = Router();
  const folder = (createRequire(import.meta.url)('swagger-ui-dist/absolute-path.js') as () => string)();
  const page = pageOf(`/docs/${encodeURIComponent(version)}`);

  router.get('/docs', (request, response) => {
    parseQuery(request, {});
    response.type('html').send(page);
  });
  router.get(`/docs/:version/${INITIALIZER}`, (_request, response) => {
    response.set('cache-control', FOR_EVER).type('text/javascript').send(START);
  });
  for (const file of FILES) {
    router.get(`/docs/:version/${file}`, (_request, response) => {
      response.sendFile(join(folder, file), {
        headers: { 'cache-control': FOR_EVER },
        cacheControl: false,
      });
    });
  }
  return router;
}

/** Whole and without a script in it: the server's policy forbids those. */
function pageOf(assets: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Turnkeeper API</title>
    <link rel="icon" type="image/png" href="${assets}/favicon-32x32.png" />
    <link rel="stylesheet" href="${assets}/swagger-ui.css" />
  </head>
  <body>
    <main id="api"></main>
    <script src="${assets}/swagger-ui-bundle.js"></script>
    <script src="${assets}/${INITIALIZER}"></script>
  </body>
</html>
`;
}

const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#api', deepLinking: true });
`;
