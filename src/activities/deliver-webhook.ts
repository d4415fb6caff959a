/**
 * The activity that posts the end of a turn to the address that its job named.
 *
 * Owns one delivery: what is posted, how it is signed, what counts as delivered, and when it is given up. At least once:
 * a worker that dies after the answer and before the commit posts again, under the same delivery id.
 */
import { createHmac } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { FollowUpRef } from '../contract/follow-up.js';
import { retryHints } from '../model/retry-hints.js';
import { endedTurnResource } from '../store/ended-turn.js';
import type { FollowUpTry, WebhookTarget } from '../store/follow-up-store.js';
import { WebRequestError } from '../tools/web/web-request-error.js';
import type { ActivityDeps } from './activity-deps.js';
import { activityFailures } from './activity-scope.js';

/** A receiver that is away for this long is given up, once it was tried often enough. */
const GIVEN_UP_AFTER_MS = 24 * 3_600_000;
const MIN_TRIES = 8;
const TIMEOUT_MS = 10_000;
/** A receiver may ask for a longer wait than the back-off's, but for no longer than this. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** Of the answer; nothing but its status counts. */
const MAX_ANSWER_BYTES = 16 * 1024;

export function createDeliverWebhook({ store, fetchWebhook, clock, logger }: ActivityDeps) {
  return async function deliverWebhook(ref: FollowUpRef): Promise<void> {
    const due = await store.followUps.begin(ref);
    const record = due && (await store.findTurn(ref.uid, ref.turn));
    if (due?.target === undefined || record === undefined) return;
    if (isGivenUp(due)) {
      logger.error(
        { ...ref, attempts: due.attempts - 1 },
        'a webhook could not be delivered and is given up',
      );
      return store.followUps.settle(ref, 'failed');
    }
    const { deliveryId } = due.target;
    const turn = await endedTurnResource(store, record);
    const failure = await post(due.target, JSON.stringify({ type: 'turn.ended', deliveryId, turn }));
    if (failure === undefined) return store.followUps.settle(ref, 'done');
    logger.warn({ ...ref, attempt: due.attempts, code: failure.code }, 'a webhook was not delivered');
    throw activityFailures.followUpFailed(failure.code, failure.retryAfterMs);
  };

  function isGivenUp({ attempts, dueAt }: FollowUpTry): boolean {
    return attempts > MIN_TRIES && clock() - Date.parse(dueAt) > GIVEN_UP_AFTER_MS;
  }

  /** Undefined where it was taken. */
  async function post(
    { url, secret }: WebhookTarget,
    body: string,
  ): Promise<{ readonly code: string; readonly retryAfterMs?: number | undefined } | undefined> {
    const signal = Context.current().cancellationSignal;
    try {
      const { status, headers } = await fetchWebhook({
        url,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'turnkeeper',
          ...(secret === undefined
            ? {}
            : { 'turnkeeper-signature': signature({ secret, body, seconds: Math.floor(clock() / 1000) }) }),
        },
        body,
        maxBytes: MAX_ANSWER_BYTES,
        timeoutMs: TIMEOUT_MS,
        signal,
      });
      if (status >= 200 && status < 300) return undefined;
      const { retryAfterMs } = retryHints({ 'retry-after': headers['retry-after'] }, clock);
      return {
        code: `HTTP_${String(status)}`,
        // A receiver that wants it again at once gets the back-off all the same.
        retryAfterMs:
          retryAfterMs === undefined || retryAfterMs < 1000
            ? undefined
            : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS),
      };
    } catch (error) {
      if (signal.aborted) throw activityFailures.shutdown();
      if (error instanceof WebRequestError) return { code: error.code };
      throw error;
    }
  }
}

/** The value of `Turnkeeper-Signature`: the time, and the HMAC-SHA256 of `<time>.<body>` in hexadecimal. */
export function signature({
  secret,
  body,
  seconds,
}: {
  readonly secret: string;
  readonly body: string;
  readonly seconds: number;
}): string {
  const time = String(seconds);
  const mac = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return `t=${time},v1=${mac}`;
}
