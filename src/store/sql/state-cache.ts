/** A bounded cache of folded session states: the least recently used one goes first. States are immutable. */
import type { SessionUid } from '../../contract/ids.js';
import type { SessionState } from '../../core/session-state.js';

const MAX_STATES = 1000;

export class StateCache {
  readonly #states = new Map<SessionUid, SessionState>();

  get(uid: SessionUid): SessionState | undefined {
    const state = this.#states.get(uid);
    if (state !== undefined) this.#touch(uid, state);
    return state;
  }

  /** Remembers a state, unless a newer one of the session is remembered already. */
  put(uid: SessionUid, state: SessionState): void {
    const known = this.#states.get(uid);
    if (known !== undefined && known.headSeq > state.headSeq) return;
    this.#touch(uid, state);
    if (this.#states.size > MAX_STATES) {
      const oldest = this.#states.keys().next();
      if (oldest.done !== true) this.#states.delete(oldest.value);
    }
  }

  drop(uid: SessionUid): void {
    this.#states.delete(uid);
  }

  #touch(uid: SessionUid, state: SessionState): void {
    this.#states.delete(uid);
    this.#states.set(uid, state);
  }
}
