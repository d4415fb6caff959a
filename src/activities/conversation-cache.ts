/**
 * The derived messages of the sessions that a worker serves, so that a step reads only what is new in the log and its
 * cost does not grow with the session's age.
 */
import type { SessionUid } from '../contract/ids.js';
import { EMPTY_MESSAGES, foldMessages, type MessageFold } from '../core/messages.js';
import type { SessionStore } from '../store/session-store.js';

const MAX_SESSIONS = 200;
const PAGE_EVENTS = 1000;

export class ConversationCache {
  readonly #folds = new Map<SessionUid, MessageFold>();

  constructor(private readonly store: SessionStore) {}

  /** The session's messages up to the log's end. */
  async read(uid: SessionUid): Promise<MessageFold> {
    let fold = this.#folds.get(uid) ?? EMPTY_MESSAGES;
    for (;;) {
      const events = await this.store.readEvents(uid, { after: fold.headSeq, limit: PAGE_EVENTS });
      fold = foldMessages(events, fold);
      if (events.length < PAGE_EVENTS) break;
    }
    this.#folds.delete(uid);
    this.#folds.set(uid, fold);
    if (this.#folds.size > MAX_SESSIONS) {
      const oldest = this.#folds.keys().next();
      if (oldest.done !== true) this.#folds.delete(oldest.value);
    }
    return fold;
  }
}
