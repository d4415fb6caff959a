/** Waits for the end of a turn on behalf of a request, for as long as its caller is there. */
import type { Response } from 'express';
import type { TurnResource } from '../contract/http.js';
import type { SessionRecord, SessionStore } from '../store/session-store.js';
import { readTurn } from './resources.js';

/**
 * The turn once it has ended, or as it is after `seconds`. Undefined where the session has no such turn.
 *
 * Returns early where the caller has gone.
 */
export async function waitForTurn(
  store: SessionStore,
  session: Pick<SessionRecord, 'uid' | 'id'>,
  turn: number,
  { seconds, response }: { readonly seconds: number; readonly response: Response },
): Promise<TurnResource | undefined> {
  let wake: () => void = () => undefined;
  let isOver = seconds <= 0;
  const finish = () => {
    isOver = true;
    wake();
  };
  // Watched before it is read: an end in between is seen as a notice.
  const unwatch = store.watch(session.uid, (notice) => {
    if (notice.kind !== 'frames') wake();
  });
  const timer = setTimeout(finish, seconds * 1000);
  response.once('close', finish);
  try {
    for (;;) {
      const noticed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const resource = await readTurn(store, session, turn);
      if (resource === undefined || resource.status === 'ended' || isOver) return resource;
      await noticed;
    }
  } finally {
    clearTimeout(timer);
    response.off('close', finish);
    unwatch();
  }
}
