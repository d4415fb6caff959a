/**
 * What follows a turn: work that is done once the turn has ended, durably and in the background.
 *
 * Owns its names and what of it enters Temporal, which is ids and small enums only. What a follow-up needs beyond that
 * (the address and the secret of a webhook) stands beside the log, in the log's database.
 */
import type { SessionUid } from './ids.js';

/** The workflow type. */
export const FOLLOW_UP_WORKFLOW = 'followUp';

/** `webhook`: the turn's end is posted to an address. `title`: the session's model is asked for a title. */
export type FollowUpKind = 'webhook' | 'title';

/** Names one follow-up: a turn has at most one of each kind. The workflow's input, and that of its activities. */
export interface FollowUpRef {
  readonly uid: SessionUid;
  readonly turn: number;
  readonly kind: FollowUpKind;
}

/** The activities of follow-ups, one a kind. Each settles what it does in the log's database; both are idempotent by it. */
export interface FollowUpActivities {
  readonly deliverWebhook: (input: FollowUpRef) => Promise<void>;
  readonly writeTitle: (input: FollowUpRef) => Promise<void>;
}

/**
 * The Temporal workflow id of a follow-up.
 *
 * @param deployment as for `turnWorkflowId`.
 */
export function followUpWorkflowId(deployment: string, { uid, turn, kind }: FollowUpRef): string {
  const id = `follow-up/${uid}/${String(turn)}/${kind}`;
  return deployment === '' ? id : `${deployment}/${id}`;
}
