/** `POST …/blobs` takes bytes that prompts can name; `GET …/blobs/:sha256` gives those, and what was too large for its event. */
import { Router } from 'express';
import type { BlobAnswer } from '../../contract/http.js';
import { sha256Schema } from '../../contract/ids.js';
import type { AppDeps } from '../app-deps.js';
import { requireReach } from '../auth/key-limits.js';
import { ProblemError } from '../problem.js';
import { contextOf } from '../request-context.js';
import { parseQuery } from '../request-input.js';
import { sessionOf } from '../session-lookup.js';
import { readUpload, UPLOAD_LIMIT_BYTES } from '../upload.js';

/** Goes before what reads JSON bodies: an upload is any bytes. */
export function blobRoutes(deps: AppDeps): Router {
  const { store, settings } = deps;
  const router = Router();

  router.post('/v1/sessions/:id/blobs', async (request, response) => {
    parseQuery(request, {});
    const session = await sessionOf(request, store);
    await requireReach(session.uid, contextOf(request), deps);
    const { bytes, mediaType } = await readUpload(request, settings.uploadLimitBytes ?? UPLOAD_LIMIT_BYTES);
    const sha256 = await store.transact(session.uid, async (transaction) => {
      const digest = await transaction.saveBlob(bytes, mediaType);
      // Bytes that are here already are what the caller says of them now.
      await transaction.retypeBlob(digest, mediaType);
      return digest;
    });
    const answer: BlobAnswer = { sha256, bytes: bytes.byteLength, mediaType };
    response.status(201).location(`/v1/sessions/${session.id}/blobs/${sha256}`).json(answer);
  });

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
