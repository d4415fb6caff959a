/** `/v1/approvals`: what waits for a person's consent, and the decisions, one or many at once. */
import { Router } from 'express';
import {
  decisionBodySchema,
  decisionsBodySchema,
  type ApprovalResource,
  type DecisionsAnswer,
} from '../../contract/http-asks.js';
import type { ApprovalId } from '../../contract/ids.js';
import type { AppDeps } from '../app-deps.js';
import { listSessionAsks, listTenantAsks, type AskKind } from '../ask-list.js';
import { readApproval } from '../ask-resources.js';
import { decideMany, decideOne } from '../decide.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError, problemOf } from '../problem.js';
import { contextOf } from '../request-context.js';
import { parseBody, parseQuery } from '../request-input.js';
import { sessionOf } from '../session-lookup.js';

const APPROVALS: AskKind<ApprovalResource> = { kind: 'approval', read: readApproval };

export function approvalRoutes({ store, tools, logger }: AppDeps, nudge: EngineNudge): Router {
  const router = Router();
  const deps = { store, tools, nudge };

  router.get('/v1/approvals', async (request, response) => {
    response.json(await listTenantAsks(request, store, APPROVALS));
  });

  router.get('/v1/sessions/:id/approvals', async (request, response) => {
    const session = await sessionOf(request, store);
    response.json(await listSessionAsks(request, store, { ...APPROVALS, session }));
  });

  router.get('/v1/approvals/:approvalId', async (request, response) => {
    parseQuery(request, {});
    const id = request.params.approvalId as ApprovalId;
    const record = await store.findAsk(contextOf(request).tenant, id);
    if (record?.kind !== 'approval') throw new ProblemError('NOT_FOUND', 'There is no such approval.');
    response.json(await readApproval(store, record));
  });

  router.post('/v1/approvals/:approvalId', async (request, response) => {
    parseQuery(request, {});
    const body = parseBody(decisionBodySchema, request);
    const approvalId = request.params.approvalId as ApprovalId;
    const record = await decideOne(deps, { ...body, approvalId }, contextOf(request));
    response.json(await readApproval(store, record));
  });

  router.post('/v1/approvals', async (request, response) => {
    parseQuery(request, {});
    const { decisions } = parseBody(decisionsBodySchema, request);
    const decided = await decideMany(deps, decisions, contextOf(request));
    const items = decided.map((answer): DecisionsAnswer['items'][number] => {
      const { approvalId } = answer;
      if (answer.kind === 'stands') return { approvalId, status: 200 };
      const { status, code } = problemOf(answer.error);
      if (status >= 500) logger.error({ err: answer.error, approvalId }, 'a decision failed');
      return { approvalId, status, code };
    });
    response.json({ items } satisfies DecisionsAnswer);
  });

  return router;
}
