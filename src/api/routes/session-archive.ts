/** `GET …/export` gives a session as one file; `POST /v1/sessions/import` makes a session of such a file. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import type { ImportedSession } from '../../contract/http.js';
import { sessionIdSchema, type SessionUid } from '../../contract/ids.js';
import { ArchiveDamage } from '../../store/archive/archive-damage.js';
import { exportLines } from '../../store/archive/export-session.js';
import { importSession } from '../../store/archive/import-session.js';
import { StoreError } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { requireMode } from '../auth/key-limits.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { essenceOf } from '../prompt-content.js';
import { contextOf } from '../request-context.js';
import { parseQuery, queryParameters } from '../request-input.js';
import { sessionResource } from '../resources.js';
import { sessionOf } from '../session-lookup.js';
import { freshWorkspace, makeFreshWorkspace, resolveWorkspace } from '../workspace.js';

const ARCHIVE_TYPE = 'application/x-ndjson';
const ACCEPTED_TYPES = [ARCHIVE_TYPE, 'application/jsonl', 'application/octet-stream'];

/** Goes before what reads JSON bodies: a file is read as it comes. */
export function sessionArchiveRoutes(deps: AppDeps, nudge: EngineNudge): Router {
  const { store, clock, ids, settings } = deps;
  const router = Router();

  router.get('/v1/sessions/:id/export', async (request, response) => {
    parseQuery(request, {});
    const record = await sessionOf(request, store);
    const lines = exportLines(store, record, new Date(clock()).toISOString());
    // Before the answer begins, so that a log that cannot be read is still a problem.
    const first = await lines.next();
    response
      .status(200)
      .setHeader('content-type', ARCHIVE_TYPE)
      .setHeader('content-disposition', `attachment; filename="${record.id}.jsonl"`);
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    await sendLines(response, first.value ?? '', lines);
  });

  router.post('/v1/sessions/import', async (request, response) => {
    const query = parseQuery(request, {
      id: sessionIdSchema.optional(),
      workspace: queryParameters.text.optional(),
      repair: z.enum(['true', 'false']).optional(),
    });
    if (deps.isDraining()) {
      throw new ProblemError('DRAINING', 'The server shuts down; ask again in a moment.');
    }
    requireArchiveType(request);
    const context = contextOf(request);
    const uid = ids.uuid() as SessionUid;
    const workspace =
      query.workspace === undefined
        ? freshWorkspace(uid, settings)
        : await resolveWorkspace(query.workspace, settings, context.key?.workspaceRoots ?? null);
    let repaired: ImportedSession['repaired'] | null;
    try {
      repaired = await importSession(store.archive, bytesOf(request), {
        tenant: context.tenant,
        uid,
        id: query.id,
        workspace,
        repairs: query.repair === 'true',
        ids,
        check: (state) => {
          requireMode(state.settings, context, deps);
        },
      });
    } catch (error) {
      // What still comes is taken, so that the answer gets to a caller who sends before it reads.
      request.resume();
      throw problemOfImport(error);
    }
    if (query.workspace === undefined) await makeFreshWorkspace(uid, settings);
    const record = await store.findSessionByUid(uid);
    if (record === undefined) throw new ProblemError('NOT_FOUND', 'The session was deleted already.');
    if (record.openTurn !== null) nudge.start(uid, record.openTurn);
    response
      .status(201)
      .location(`/v1/sessions/${record.id}`)
      .json({
        ...sessionResource(record, await store.readState(uid), deps.profiles),
        ...(repaired == null ? {} : { repaired }),
      } satisfies ImportedSession);
  });

  return router;
}

async function sendLines(response: Response, first: string, rest: AsyncIterable<string>): Promise<void> {
  response.write(first);
  try {
    await pipeline(Readable.from(rest), response);
  } catch (error) {
    // Whoever asked has gone; nobody is left to be told.
    if (!isPrematureClose(error)) throw error;
  }
}

function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}

function requireArchiveType(request: Request): void {
  if (!ACCEPTED_TYPES.includes(essenceOf(request.get('content-type') ?? ''))) {
    const detail = `The body is the file of a session; its type is ${ARCHIVE_TYPE}.`;
    throw new ProblemError('UNSUPPORTED_MEDIA_TYPE', detail, 'Content-Type');
  }
  if ((request.get('content-encoding') ?? 'identity') !== 'identity') {
    throw new ProblemError('UNSUPPORTED_MEDIA_TYPE', 'The file is not compressed.', 'Content-Encoding');
  }
}

/** The body as it comes. The socket stays open after a refusal, which has to get back over it. */
async function* bytesOf(request: Request): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch {
    // The caller went away in the middle; nobody reads the answer. It must not pass for a file that was cut.
    throw new ProblemError('INVALID_REQUEST', 'The body could not be read.');
  }
}

function problemOfImport(error: unknown): unknown {
  if (error instanceof ArchiveDamage) {
    return new ProblemError(
      'FILE_DAMAGED',
      `${error.message} Nothing was imported. With "repair=true" it is opened up to where it is whole.`,
    );
  }
  if (error instanceof StoreError && error.code === 'SESSION_CONFLICT') {
    return new ProblemError('SESSION_CONFLICT', `${error.message} "?id=" imports under another id.`, 'id');
  }
  return error;
}
