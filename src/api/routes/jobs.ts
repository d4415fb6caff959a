/** `POST /v1/turns`: the job API in one call. A repeated request id is answered with the same turn. */
import { createHash } from 'node:crypto';
import { Router, type Request } from 'express';
import { jobBodySchema, type JobBody } from '../../contract/http.js';
import type { ItemId, RequestId, SessionId } from '../../contract/ids.js';
import { admit, type Admission } from '../../store/admission.js';
import { StoreError, type SessionRecord } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { bodyDigest } from '../body-digest.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { checkBlobs, contentOf } from '../prompt-content.js';
import { contextOf, type RequestContext } from '../request-context.js';
import { parseBody, parseQuery, preferredWait, queryParameters, requestIdOf } from '../request-input.js';
import { checkSessionAllowance } from '../session-allowance.js';
import { promptChoice } from '../session-choice.js';
import { createSession } from '../session-creation.js';
import { waitForTurn } from '../turn-wait.js';
import { requestIdReused } from './prompts.js';

/** A job whose session is known. */
interface Job {
  readonly session: SessionRecord;
  readonly requestId: RequestId;
  readonly body: Omit<JobBody, 'requestId'>;
}

/** Choices that are made at a session's creation. */
const SESSION_FIELDS = ['profile', 'workspace', 'permission', 'limits', 'metadata'] as const;

export function jobRoutes(deps: AppDeps, nudge: EngineNudge): Router {
  const { store, ids } = deps;
  const router = Router();

  router.post('/v1/turns', async (request, response) => {
    const { wait } = parseQuery(request, { wait: queryParameters.wait.optional() });
    const { requestId: inBody, ...body } = parseBody(jobBodySchema, request);
    const requestId = requestIdOf(request, inBody) ?? (ids.uuid() as RequestId);
    if (deps.isDraining()) {
      throw new ProblemError(
        'DRAINING',
        'The server shuts down and takes no jobs; send it again in a moment.',
      );
    }
    const job: Job = { session: await jobSession(request, requestId, body), requestId, body };
    const admission = await admitJob(job, contextOf(request));
    if (admission.kind === 'request-id-reused') throw requestIdReused(requestId);
    const { turn, duplicate } = admission;
    if (turn === null) throw turnRunning();
    if (!duplicate) nudge.start(job.session.uid, turn);

    const seconds = wait ?? preferredWait(request) ?? 0;
    const resource = await waitForTurn(store, job.session, turn, { seconds, response });
    if (resource === undefined) throw new ProblemError('NOT_FOUND', 'The session was deleted meanwhile.');
    response
      .status(resource.status === 'ended' ? 200 : 202)
      .location(`/v1/sessions/${job.session.id}/turns/${String(turn)}`)
      .json(resource);
  });

  async function jobSession(
    request: Request,
    requestId: RequestId,
    body: Job['body'],
  ): Promise<SessionRecord> {
    const { tenant } = contextOf(request);
    if (body.sessionId !== undefined) return existingSession(tenant, body);
    const { profile, provider, model, workspace, permission, limits, metadata } = body;
    try {
      const { record } = await createSession(deps, {
        tenant,
        id: jobSessionId(requestId),
        asked: { profile, provider, model, workspace, permission, limits, metadata },
        bodySha256: bodyDigest(body),
      });
      return record;
    } catch (error) {
      // The session's id is made from the request id, so a conflict is a request id with another body.
      if (error instanceof StoreError && error.code === 'SESSION_CONFLICT') throw requestIdReused(requestId);
      throw error;
    }
  }

  async function existingSession(tenant: string, body: Job['body']): Promise<SessionRecord> {
    const misplaced = SESSION_FIELDS.find((field) => body[field] !== undefined);
    if (misplaced !== undefined) {
      throw new ProblemError(
        'INVALID_REQUEST',
        `"${misplaced}": is set when a session is created, and "sessionId" names one that exists.`,
        misplaced,
      );
    }
    const record = body.sessionId && (await store.findSession(tenant, body.sessionId));
    if (!record) throw new ProblemError('NOT_FOUND', 'There is no such session.', 'sessionId');
    return record;
  }

  async function admitJob({ session, requestId, body }: Job, { by }: RequestContext): Promise<Admission> {
    const content =
      typeof body.prompt === 'string'
        ? contentOf({ text: body.prompt })
        : contentOf({ content: body.prompt });
    await checkBlobs(store, session.uid, content);
    const { settings } = await store.readState(session.uid);
    // Without `sessionId` provider and model are the settings of the job's own session.
    const choice = body.sessionId === undefined ? {} : promptChoice(body, settings ?? {}, deps);
    return store.transact(session.uid, async (transaction) => {
      const before = transaction.state;
      const admission = await admit(transaction, {
        requestId,
        itemId: ids.uuid() as ItemId,
        mode: 'queue',
        content,
        bodySha256: bodyDigest(body),
        timeZone: body.timeZone,
        unattended: body.unattended,
        by,
        ...choice,
      });
      if (admission.kind === 'accepted' && !admission.duplicate) {
        // A prompt that waits has no turn to answer with. Thrown inside, so that nothing of it is stored.
        if (before.openTurn !== null) throw turnRunning();
        checkSessionAllowance(before, choice, deps);
      }
      return admission;
    });
  }

  return router;
}

function turnRunning(): ProblemError {
  return new ProblemError(
    'TURN_RUNNING',
    'The session has an open turn, so the job has no turn yet; POST …/prompts puts a prompt into its queue.',
    'sessionId',
  );
}

/**
 * The id of the session that a job without `sessionId` gets: the same for the same request id, which makes the id
 * unique in its tenant, also where two calls with it come at once.
 */
function jobSessionId(requestId: RequestId): SessionId {
  return `job-${createHash('sha256').update(requestId).digest('hex').slice(0, 32)}` as SessionId;
}
