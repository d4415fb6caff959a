/** `GET …/blobs/:sha256`: the bytes of a content that was too large for its event. */
import { Router } from 'express';
import { sha256Schema } from '../../contract/ids.js';
import type { AppDeps } from '../app-deps.js';
import { ProblemError } from '../problem.js';
import { parseQuery } from '../request-input.js';
import { sessionOf } from '../session-lookup.js';

export function blobRoutes({ store }: AppDeps): Router {
  const router = Router();
  router.get('/v1/sessions/:id/blobs/:sha256', async (request, response) => {
    parseQuery(request, {});
    const session = await sessionOf(request, store);
    const sha256 = sha256Schema.safeParse(request.params.sha256);
    const blob = sha256.success ? await store.readBlob(session.uid, sha256.data) : undefined;
    if (blob === undefined) throw new ProblemError('NOT_FOUND', 'The session has no such blob.');
    // Sent as a download in a sandbox: what a tool or a model wrote must never run as a page of this origin.
    response
      .set('content-type', blob.mediaType)
      .set('content-disposition', 'attachment')
      .set('content-security-policy', "default-src 'none'; sandbox")
      .send(Buffer.from(blob.bytes.buffer, blob.bytes.byteOffset, blob.bytes.byteLength));
  });
  return router;
}
