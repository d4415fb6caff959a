/** `POST /v1/sessions/:id/prompts`: a prompt is durable when this answers 202. */
import { Router } from 'express';
import { promptBodySchema, type PromptAnswer } from '../../contract/http.js';
import type { ItemId, RequestId } from '../../contract/ids.js';
import { admit, admittedBefore } from '../../store/admission.js';
import type { AppDeps } from '../app-deps.js';
import { chargePrompt, requireReach } from '../auth/key-limits.js';
import { bodyDigest } from '../body-digest.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { checkContent, contentOf } from '../prompt-content.js';
import { promptTitle } from '../prompt-title.js';
import { contextOf } from '../request-context.js';
import { parseBody, parseQuery, requestIdOf } from '../request-input.js';
import { checkSessionAllowance } from '../session-allowance.js';
import { modelShown, promptChoice } from '../session-choice.js';
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
    const { mode, whenRunning, timeZone, unattended } = prompt;
    const content = contentOf(prompt);
    const asked = { requestId, bodySha256: bodyDigest(prompt) };
    const context = contextOf(request);
    await requireReach(session.uid, context, deps);

    const admission = await store.transact(session.uid, async (transaction) => {
      // Before all checks: one that was accepted is answered again, also by a configuration that would refuse it today.
      const before = await admittedBefore(transaction, asked);
      if (before !== undefined) return before;
      const { state } = transaction;
      const choice = promptChoice(prompt, state.settings ?? {}, deps);
      const model = modelShown(state, { steers: mode !== 'queue', choice }, deps);
      await checkContent(transaction, content, { model });
      checkSessionAllowance(state, choice, deps);
      const admitted = await admit(transaction, {
        ...asked,
        itemId: ids.uuid() as ItemId,
        mode,
        whenRunning,
        content,
        timeZone,
        by: context.by,
        unattended,
        title: promptTitle(content, state, deps.profiles),
        ...choice,
      });
      if (admitted.kind === 'accepted') await chargePrompt(transaction, context, deps);
      return admitted;
    });
    if (admission.kind === 'request-id-reused') throw requestIdReused(requestId);
    if (admission.kind === 'turn-running') {
      throw new ProblemError('TURN_RUNNING', 'The session has an open turn, and the prompt was not to wait.');
    }
    const { itemId, turn, position, cursorSeq, interrupted, duplicate } = admission;
    if (turn !== null && !duplicate) nudge.start(session.uid, turn);
    if (interrupted !== null) nudge.cancel(session.uid, interrupted);
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
