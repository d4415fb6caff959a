/** In-process notification of commits. Owns who listens; tells that something happened, never what. */
import type { SessionUid } from '../contract/ids.js';
import type { StoreNotice } from './session-store.js';

type Listener = (notice: StoreNotice) => void;

export class Notifier {
  readonly #ofSession = new Map<SessionUid, Set<Listener>>();
  readonly #ofAll = new Set<Listener>();

  constructor(private readonly onListenerError: (error: unknown) => void) {}

  /** Calls `told` on each notice of the session, or of all for null, until the returned function is called. */
  watch(uid: SessionUid | null, told: Listener): () => void {
    // Its own function each time, so that who watches twice with one is told twice and can leave once.
    const listener: Listener = (notice) => {
      told(notice);
    };
    if (uid === null) {
      this.#ofAll.add(listener);
      return () => this.#ofAll.delete(listener);
    }
    const listeners = this.#ofSession.get(uid) ?? new Set();
    listeners.add(listener);
    this.#ofSession.set(uid, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#ofSession.get(uid) === listeners) this.#ofSession.delete(uid);
    };
  }

  /** Tells all listeners. One that throws disturbs neither the commit nor the others. */
  notify(notice: StoreNotice): void {
    for (const listener of [...(this.#ofSession.get(notice.uid) ?? []), ...this.#ofAll]) {
      try {
        listener(notice);
      } catch (error) {
        this.onListenerError(error);
      }
    }
  }
}
