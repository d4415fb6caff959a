/** `POST /v1/turns`: the job API in one call. A repeated request id is answered with the same turn. */
import { createHash } from 'node:crypto';
import { Router } from 'express';
import type { InputBlock } from '../../contract/content.js';
import { jobBodySchema, type JobBody } from '../../contract/http.js';
import type { ItemId, RequestId, SessionId } from '../../contract/ids.js';
import { admit, admittedBefore, type Admission } from '../../store/admission.js';
import { StoreError, type LogTransaction, type SessionRecord } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { chargePrompt, requireReach } from '../auth/key-limits.js';
import { bodyDigest } from '../body-digest.js';
import type { EngineNudge } from '../engine-nudge.js';
import { checkJobExtras, schemaOf, webhookTarget } from '../job-extras.js';
import { ProblemError } from '../problem.js';
import { checkContent, contentOf, refuseBlobs } from '../prompt-content.js';
import { promptTitle } from '../prompt-title.js';
import { contextOf, type RequestContext } from '../request-context.js';
import { parseBody, parseQuery, preferredWait, queryParameters, requestIdOf } from '../request-input.js';
import { checkSessionAllowance } from '../session-allowance.js';
import { modelShown, promptChoice } from '../session-choice.js';
import { createSession, type SessionToCreate } from '../session-creation.js';
import { waitForTurn } from '../turn-wait.js';
import { requestIdReused } from './prompts.js';

/** A job as it was sent. */
interface Job {
  readonly requestId: RequestId;
  readonly body: Omit<JobBody, 'requestId'>;
  readonly context: RequestContext;
}

interface TakenJob {
  readonly session: SessionRecord;
  readonly admission: Admission;
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
    checkJobExtras(body, deps);
    const job: Job = { requestId, body, context: contextOf(request) };
    const { session, admission } = await (body.sessionId === undefined
      ? inOwnSession(job)
      : inGivenSession(job));
    if (admission.kind === 'request-id-reused') throw requestIdReused(requestId);
    if (admission.kind === 'turn-running') throw turnRunning();
    const { turn, duplicate } = admission;
    if (turn === null) throw turnRunning();
    if (!duplicate) nudge.start(session.uid, turn);

    const seconds = wait ?? preferredWait(request) ?? 0;
    const resource = await waitForTurn(store, session, turn, { seconds, response });
    if (resource === undefined) throw new ProblemError('NOT_FOUND', 'The session was deleted meanwhile.');
    response
      .status(resource.status === 'ended' ? 200 : 202)
      .location(`/v1/sessions/${session.id}/turns/${String(turn)}`)
      .json(resource);
  });

  /** The session is made for the job, in the transaction that takes it: one that is refused leaves none. */
  async function inOwnSession(job: Job): Promise<TakenJob> {
    const { requestId, body, context } = job;
    const { profile, provider, model, workspace, permission, limits, metadata } = body;
    refuseBlobs(jobContent(body), 'prompt');
    const own: SessionToCreate = {
      context,
      id: jobSessionId(requestId),
      asked: { profile, provider, model, workspace, permission, limits, metadata },
      bodySha256: bodyDigest(body),
    };
    try {
      const { record, first } = await createSession(deps, own, (transaction) => admitJob(transaction, job));
      return first === undefined ? await inSession(record, job) : { session: record, admission: first };
    } catch (error) {
      // The session's id is made from the request id, so a conflict is a request id with another body.
      if (error instanceof StoreError && error.code === 'SESSION_CONFLICT') throw requestIdReused(requestId);
      throw error;
    }
  }

  async function inGivenSession(job: Job): Promise<TakenJob> {
    const { body, context } = job;
    const misplaced = SESSION_FIELDS.find((field) => body[field] !== undefined);
    if (misplaced !== undefined) {
      throw new ProblemError(
        'INVALID_REQUEST',
        `"${misplaced}": is set when a session is created, and "sessionId" names one that exists.`,
        misplaced,
      );
    }
    const record = body.sessionId && (await store.findSession(context.tenant, body.sessionId));
    if (!record) throw new ProblemError('NOT_FOUND', 'There is no such session.', 'sessionId');
    return inSession(record, job);
  }

  async function inSession(session: SessionRecord, job: Job): Promise<TakenJob> {
    await requireReach(session.uid, job.context, deps);
    const admission = await store.transact(session.uid, (transaction) => admitJob(transaction, job));
    return { session, admission };
  }

  async function admitJob(
    transaction: LogTransaction,
    { requestId, body, context }: Job,
  ): Promise<Admission> {
    const content = jobContent(body);
    const asked = { requestId, bodySha256: bodyDigest(body) };
    const before = await admittedBefore(transaction, asked);
    if (before !== undefined) return before;
    const { state } = transaction;
    // Without `sessionId` provider and model are the settings of the job's own session.
    const choice = body.sessionId === undefined ? {} : promptChoice(body, state.settings ?? {}, deps);
    const model = modelShown(state, { steers: false, choice }, deps);
    await checkContent(transaction, content, { model, field: 'prompt' });
    if (state.openTurn === null) checkSessionAllowance(state, choice, deps);
    const admitted = await admit(transaction, {
      ...asked,
      itemId: ids.uuid() as ItemId,
      mode: 'queue',
      // A prompt that waits has no turn to answer with.
      whenRunning: 'reject',
      content,
      timeZone: body.timeZone,
      unattended: body.unattended,
      outputSchema: schemaOf(body),
      title: promptTitle(content, state, deps.profiles),
      by: context.by,
      ...choice,
    });
    if (admitted.kind === 'accepted') await chargePrompt(transaction, context, deps);
    const target = webhookTarget(body, ids);
    if (admitted.kind === 'accepted' && admitted.turn !== null && target !== undefined) {
      await transaction.addFollowUp({ turn: admitted.turn, kind: 'webhook', target });
    }
    return admitted;
  }

  return router;
}

function jobContent({ prompt }: Pick<JobBody, 'prompt'>): readonly InputBlock[] {
  return contentOf(typeof prompt === 'string' ? { text: prompt } : { content: prompt });
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
