/** `PATCH` and `DELETE /v1/sessions/:id/queue/:itemId`: prompts that wait are edited, moved or removed. */
import { Router, type Request } from 'express';
import { queuePatchSchema, type QueuePatch } from '../../contract/http.js';
import { itemIdSchema } from '../../contract/ids.js';
import type { WaitingItem } from '../../core/inbox.js';
import { changeQueued, findQueued, removeQueued } from '../../store/queue.js';
import type { LogTransaction } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { requireReach } from '../auth/key-limits.js';
import type { EngineNudge } from '../engine-nudge.js';
import { ProblemError } from '../problem.js';
import { checkContent, contentOf } from '../prompt-content.js';
import { contextOf } from '../request-context.js';
import { parseBody, parseQuery } from '../request-input.js';
import { queueItem } from '../resources.js';
import { modelShown } from '../session-choice.js';
import { sessionOf } from '../session-lookup.js';

type ItemRequest = Request<{ id: string; itemId: string }>;

export function queueRoutes(deps: AppDeps, nudge: EngineNudge): Router {
  const { store } = deps;
  const router = Router();

  router.patch('/v1/sessions/:id/queue/:itemId', async (request, response) => {
    parseQuery(request, {});
    const patch = parseBody(queuePatchSchema, request);
    const session = await sessionOf(request, store);
    await requireReach(session.uid, contextOf(request), deps);
    const { item, opened } = await store.transact(session.uid, async (transaction) => {
      const waiting = await waitingItem(transaction, request);
      const content = await newContent(transaction, waiting, patch);
      return changeQueued(transaction, waiting, { content, mode: patch.mode });
    });
    if (opened !== null) nudge.start(session.uid, opened);
    response.json(queueItem(item));
  });

  router.delete('/v1/sessions/:id/queue/:itemId', async (request, response) => {
    parseQuery(request, {});
    const session = await sessionOf(request, store);
    await requireReach(session.uid, contextOf(request), deps);
    await store.transact(session.uid, async (transaction) => {
      await removeQueued(transaction, await waitingItem(transaction, request));
    });
    response.status(204).end();
  });

  /** The content that takes the place of the item's, where any does. What the model will be shown is checked. */
  async function newContent(
    transaction: LogTransaction,
    { entry, target }: WaitingItem,
    patch: QueuePatch,
  ): Promise<ReturnType<typeof contentOf> | undefined> {
    const content = patch.text === undefined && patch.content === undefined ? undefined : contentOf(patch);
    const steers = patch.mode === undefined ? target === 'next-step' : patch.mode === 'steer';
    const model = modelShown(transaction.state, { steers, choice: entry }, deps);
    await checkContent(transaction, content ?? entry.content, { model });
    return content;
  }

  return router;
}

/** @throws `ProblemError` `ALREADY_CLAIMED`, `NOT_FOUND`. */
async function waitingItem(transaction: LogTransaction, request: ItemRequest): Promise<WaitingItem> {
  const itemId = itemIdSchema.safeParse(request.params.itemId);
  const found = itemId.success ? await findQueued(transaction, itemId.data) : { kind: 'gone' as const };
  if (found.kind === 'waiting') return found.item;
  if (found.kind === 'gone') throw new ProblemError('NOT_FOUND', 'Nothing of this id is in the queue.');
  throw new ProblemError(
    'ALREADY_CLAIMED',
    `Turn ${String(found.turn)} has taken the prompt; what it is told can not be changed any more.`,
  );
}
