/** Writes the wish to end a turn into the log (DESIGN 11). Telling the engine comes after, by the caller. */
import type { SessionUid } from '../contract/ids.js';
import { cancelTurn } from '../core/turn-progress.js';
import type { SessionStore } from '../store/session-store.js';

export interface CancelWish {
  readonly by: string;
  readonly cause?: string | undefined;
  /** The turn to cancel; absent is the open one, whichever it is. */
  readonly turn?: number;
}

/** `ended`: the turn that was named is over. `idle`: no turn was named and none is open. */
export type CancelOutcome =
  | { readonly kind: 'cancelling'; readonly turn: number }
  | { readonly kind: 'ended'; readonly turn: number }
  | { readonly kind: 'idle' }
  | { readonly kind: 'no-such-turn' };

/** Stores the wish where there is something to cancel; a turn has one, and the first one's author counts. */
export async function requestCancel(
  store: SessionStore,
  uid: SessionUid,
  { by, cause, turn }: CancelWish,
): Promise<CancelOutcome> {
  return store.transact(uid, async (transaction): Promise<CancelOutcome> => {
    const { openTurn, lastTurn, inbox } = transaction.state;
    if (turn !== undefined && turn !== openTurn?.number) {
      return turn <= lastTurn ? { kind: 'ended', turn } : { kind: 'no-such-turn' };
    }
    if (openTurn === null) return { kind: 'idle' };
    await transaction.append(cancelTurn(openTurn, inbox, { by, cause }));
    return { kind: 'cancelling', turn: openTurn.number };
  });
}
