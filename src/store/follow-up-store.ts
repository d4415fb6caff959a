/**
 * Where follow-ups of turns are kept, beside the log and in its database: what every backend promises of them, proved by
 * the contract suite of the store.
 *
 * A follow-up is added in the transaction of what causes it, becomes due in the transaction that ends its turn, and is
 * settled once. What it needs, such as an address and a secret, is kept here alone and forgotten when it is settled.
 */
import type { FollowUpRef } from '../contract/follow-up.js';

/** Where the end of a turn is to be posted to. */
export interface WebhookTarget {
  readonly url: string;
  readonly secret?: string;
  /** The same on each try. */
  readonly deliveryId: string;
}

/** A follow-up that is to be done once its turn has ended. */
export type NewFollowUp =
  | { readonly turn: number; readonly kind: 'webhook'; readonly target: WebhookTarget }
  | { readonly turn: number; readonly kind: 'title' };

export type FollowUpOutcome = 'done' | 'failed';

/** A follow-up that is being tried. */
export interface FollowUpTry {
  /** Tries so far, this one included. */
  readonly attempts: number;
  /** When its turn ended, ISO 8601. */
  readonly dueAt: string;
  /** Of a webhook. */
  readonly target?: WebhookTarget;
}

export interface FollowUpStore {
  /** Those that are due and not settled, oldest first: of one turn, or of all sessions that ended before a time. */
  due(
    of: Pick<FollowUpRef, 'uid' | 'turn'> | { readonly before: string; readonly limit: number },
  ): Promise<readonly FollowUpRef[]>;
  /** Counts one more try; undefined where there is nothing to do: it is settled, or gone with its session. */
  begin(ref: FollowUpRef): Promise<FollowUpTry | undefined>;
  /** Settles it; one that is settled stays as it is. */
  settle(ref: FollowUpRef, outcome: FollowUpOutcome): Promise<void>;
}
