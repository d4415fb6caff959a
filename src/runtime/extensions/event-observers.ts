/**
 * Tells the `session/event` observers of what is committed: per session in the order of the log, and behind the commit.
 *
 * Owns nothing durable: what is committed while no observer runs is not told later.
 */
import type { Logger } from 'pino';
import type { SessionEvent } from '../../contract/events.js';
import type { SessionUid } from '../../contract/ids.js';
import type { SessionStore } from '../../store/session-store.js';
import { type Awaitable, type NamedHook, runHook } from '../../tools/hooks.js';

/** Told of an event that stands in the log. */
export type EventObserver = (event: SessionEvent) => Awaitable<void>;

/** The observers in their order. */
export type EventObservers = readonly NamedHook<EventObserver>[];

/** Starts telling; the returned function ends it and waits for what is being told. */
export function startEventObservers(
  store: Pick<SessionStore, 'watch' | 'readEvents'>,
  observers: EventObservers,
  logger: Logger,
): () => Promise<void> {
  if (observers.length === 0) return () => Promise.resolve();
  /** What each session's observers are still being told; a session without an entry is up to date. */
  const telling = new Map<SessionUid, Promise<void>>();
  const tell = async (uid: SessionUid, afterSeq: number, headSeq: number): Promise<void> => {
    const page = { after: afterSeq, before: headSeq + 1, limit: headSeq - afterSeq };
    await observeEvents(observers, await store.readEvents(uid, page), logger);
  };
  const unwatch = store.watch(null, (notice) => {
    // What a file tells has happened somewhere else, and long ago.
    if (notice.kind !== 'events' || notice.isImport === true) return;
    const { uid, afterSeq, headSeq } = notice;
    const told = (telling.get(uid) ?? Promise.resolve())
      .then(() => tell(uid, afterSeq, headSeq))
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

/**
 * Tells the observers of these events: each in the order of the log, none waiting for another. One that fails is logged and
 * told of the next event. Never throws.
 */
export async function observeEvents(
  observers: EventObservers,
  events: readonly SessionEvent[],
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  await Promise.all(
    observers.map(async (observer) => {
      for (const event of events) {
        await runHook(observer, () => observer.run(event)).catch((error: unknown) => {
          const { sessionId, seq } = event;
          logger.warn({ err: error, sessionId, seq }, 'a hook that observes events failed');
        });
      }
    }),
  );
}
