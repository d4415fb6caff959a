/** `/v1/questions`: what the model asks of a person, and the answers. */
import { Router } from 'express';
import { answersBodySchema, type QuestionResource } from '../../contract/http-asks.js';
import type { QuestionId } from '../../contract/ids.js';
import type { AppDeps } from '../app-deps.js';
import { listSessionAsks, listTenantAsks, type AskKind } from '../ask-list.js';
import { readQuestion } from '../ask-resources.js';
import { answer } from '../decide.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { contextOf } from '../request-context.js';
import { parseBody, parseQuery } from '../request-input.js';
import { sessionOf } from '../session-lookup.js';

const QUESTIONS: AskKind<QuestionResource> = { kind: 'question', read: readQuestion };

export function questionRoutes({ store }: AppDeps, nudge: EngineNudge): Router {
  const router = Router();

  router.get('/v1/questions', async (request, response) => {
    response.json(await listTenantAsks(request, store, QUESTIONS));
  });

  router.get('/v1/sessions/:id/questions', async (request, response) => {
    const session = await sessionOf(request, store);
    response.json(await listSessionAsks(request, store, { ...QUESTIONS, session }));
  });

  router.get('/v1/questions/:questionId', async (request, response) => {
    parseQuery(request, {});
    const id = request.params.questionId as QuestionId;
    const record = await store.findAsk(contextOf(request).tenant, id);
    if (record?.kind !== 'question') throw new ProblemError('NOT_FOUND', 'There is no such question.');
    response.json(await readQuestion(store, record));
  });

  router.post('/v1/questions/:questionId', async (request, response) => {
    parseQuery(request, {});
    const { answers } = parseBody(answersBodySchema, request);
    const questionId = request.params.questionId as QuestionId;
    const record = await answer({ store, nudge }, { questionId, answers }, contextOf(request));
    response.json(await readQuestion(store, record));
  });

  return router;
}
