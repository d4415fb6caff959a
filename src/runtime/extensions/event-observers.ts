/**
 * Tells the `session/event` observers of what is committed: per session in the order of the log, and behind the commit.
 *
 * Owns nothing durable: what is committed while no observer runs is not told later.
 */
import type { Logger } from 'pino';
import { observeEvents } from '../../activities/run-turn-hooks.js';
import type { TurnHooks } from '../../activities/turn-hooks.js';
import type { SessionUid } from '../../contract/ids.js';
import type { SessionStore } from '../../store/session-store.js';

/** Starts telling; the returned function ends it and waits for what is being told. */
export function startEventObservers(
  store: SessionStore,
  observers: TurnHooks['events'],
  logger: Logger,
): () => Promise<void> {
  if (observers.length === 0) return () => Promise.resolve();
  /** What each session's observers are still being told; a session without an entry is up to date. */
  const telling = new Map<SessionUid, Promise<void>>();
  const tell = async (uid: SessionUid, after: number, before: number): Promise<void> => {
    const events = await store.readEvents(uid, { after, before, limit: before - after });
    await observeEvents(observers, events, logger);
  };
  const unwatch = store.watch(null, (notice) => {
    // What a file tells has happened somewhere else, and long ago.
    if (notice.kind !== 'events' || notice.isImport === true) return;
    const { uid, afterSeq, headSeq } = notice;
    const told = (telling.get(uid) ?? Promise.resolve())
      .then(() => tell(uid, afterSeq, headSeq + 1))
      .catch((error: unknown) => {
        logger.warn({ err: error, uid, afterSeq }, 'events could not be told to their observers');
      })
      .finally(() => {
        if (telling.get(uid) === told) telling.delete(uid);
      });
    telling.set(uid, told);
  });
  return async () => {
    unwatch();
    await Promise.all(telling.values());
  };
}
