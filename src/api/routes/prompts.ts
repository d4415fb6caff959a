/** `POST /v1/sessions/:id/prompts`: a prompt is durable when this answers 202. */
import { Router } from 'express';
import { promptBodySchema, type PromptAnswer } from '../../contract/http.js';
import type { ItemId, RequestId } from '../../contract/ids.js';
import { admit } from '../../store/admission.js';
import type { AppDeps } from '../app-deps.js';
import { bodyDigest } from '../body-digest.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { checkBlobs, contentOf } from '../prompt-content.js';
import { contextOf } from '../request-context.js';
import { parseBody, parseQuery, requestIdOf } from '../request-input.js';
import { checkSessionAllowance } from '../session-allowance.js';
import { promptChoice } from '../session-choice.js';
import { sessionOf } from '../session-lookup.js';

export function promptRoutes(deps: AppDeps, nudge: EngineNudge): Router {
  const { store, ids } = deps;
  const router = Router();

  router.post('/v1/sessions/:id/prompts', async (request, response) => {
    parseQuery(request, {});
    const { requestId: inBody, ...prompt } = parseBody(promptBodySchema, request);
    const requestId = requestIdOf(request, inBody) ?? (ids.uuid() as RequestId);
    if (deps.isDraining()) {
      throw new ProblemError(
        'DRAINING',
        'The server shuts down and takes no prompts; send it again in a moment.',
      );
    }
    const session = await sessionOf(request, store);
    const content = contentOf(prompt);
    await checkBlobs(store, session.uid, content);
    const { mode, timeZone, unattended } = prompt;
    const { settings } = await store.readState(session.uid);
    const choice = promptChoice(prompt, settings ?? {}, deps);

    const admission = await store.transact(session.uid, async (transaction) => {
      const before = transaction.state;
      const admitted = await admit(transaction, {
        requestId,
        itemId: ids.uuid() as ItemId,
        mode,
        content,
        bodySha256: bodyDigest(prompt),
        timeZone,
        by: contextOf(request).by,
        unattended,
        ...choice,
      });
      // One that was accepted before is answered again, also by a session that has spent its allowance since. Thrown
      // inside, so that nothing is stored of one that is not.
      if (admitted.kind === 'accepted' && !admitted.duplicate) checkSessionAllowance(before, choice, deps);
      return admitted;
    });
    if (admission.kind === 'request-id-reused') throw requestIdReused(requestId);
    const { itemId, turn, position, cursorSeq, duplicate } = admission;
    if (turn !== null && !duplicate) nudge.start(session.uid, turn);
    const answer: PromptAnswer = {
      accepted: true,
      requestId,
      sessionId: session.id,
      itemId,
      turn,
      position,
      cursor: String(cursorSeq),
      duplicate,
    };
    response.status(duplicate ? 200 : 202).json(answer);
  });

  return router;
}

/** The refusal of a request id whose first use had another body. */
export function requestIdReused(requestId: RequestId): ProblemError {
  return new ProblemError(
    'REQUEST_ID_REUSED',
    `The request id "${requestId}" was used with another body; a new prompt needs a new one.`,
    'requestId',
  );
}
