/**
 * One follow-up of a turn: an activity that is repeated until the log's database says that it is settled.
 *
 * Owns nothing but the repetition: what is to be done, how often it was tried and when it is given up stand in the
 * database, so that this may be run twice.
 */
import type { FollowUpRef } from '../contract/follow-up.js';
import { createFollowUpProxies } from './activity-proxies.js';

/** The workflow of a follow-up: see `FOLLOW_UP_WORKFLOW` and `followUpWorkflowId` for how it is started. */
export async function followUp(ref: FollowUpRef): Promise<void> {
  const { deliverWebhook, writeTitle } = createFollowUpProxies();
  switch (ref.kind) {
    case 'webhook':
      return deliverWebhook(ref);
    case 'title':
      return writeTitle(ref);
  }
}
