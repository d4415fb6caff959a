/**
 * Deletes sessions that are old, and makes good what any deletion left behind: folders, frames, Temporal's workflows.
 *
 * Owns the pace. Whether a session may go is asked again in the transaction that deletes it, and everything here may be
 * done twice, so any number of servers may do it at once.
 */
import { setImmediate as nextTurnOfTheLoop } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock, SessionUid } from '../contract/ids.js';
import type { SessionRecord, SessionStore } from '../store/session-store.js';
import type { TurnHistories } from './turn-histories.js';

const INTERVAL_MS = 60_000;
const DAY_MS = 86_400_000;
const PAGE = 100;

export interface RetentionDeps {
  readonly store: Pick<SessionStore, 'retention'>;
  readonly histories: TurnHistories;
  readonly clock: Clock;
  readonly logger: Logger;
  /** While the engine is away nobody can forget. */
  readonly isEngineUp: () => boolean;
  /** `retention.sessionsAfterDays`; null keeps sessions for ever. */
  readonly sessionsAfterDays: number | null;
  /** Deletes a session that is still as it was then, as the API does; false where it is not. */
  readonly deleteSession: (record: SessionRecord, unchangedSince: string) => Promise<boolean>;
  /** Removes what folders of this host hold of a session that is gone. */
  readonly removeFolders: (uid: SessionUid) => Promise<void>;
  /** Default: a minute. */
  readonly intervalMs?: number;
}

export interface Retention {
  /** Goes over everything once, now or after what is under way. Never rejects. */
  run(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts at once, with what an earlier process may have left, and goes on every minute. */
export function startRetention(deps: RetentionDeps): Retention {
  const { store, histories, clock, logger } = deps;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();

  const deleteOldSessions = async (days: number): Promise<number> => {
    const unchangedSince = new Date(clock() - days * DAY_MS).toISOString();
    let deleted = 0;
    for (let progress = true; progress;) {
      progress = false;
      for (const record of await store.retention.idleSessions({ unchangedSince, limit: PAGE })) {
        if (isStopped) return deleted;
        if (!(await deps.deleteSession(record, unchangedSince))) continue;
        progress = true;
        deleted += 1;
        // Each deletion is one transaction; whatever waits for the log comes in between.
        await nextTurnOfTheLoop();
      }
    }
    if (deleted > 0) logger.info({ sessions: deleted, days }, 'old sessions were deleted');
    return deleted;
  };

  const clearLeftovers = async (uid: SessionUid): Promise<void> => {
    try {
      await deps.removeFolders(uid);
      if (await histories.forgetSession(uid)) {
        await store.retention.clearLeftovers(uid);
        return;
      }
    } catch (error) {
      logger.warn({ err: error, uid }, 'something is left of a deleted session; it is tried again');
    }
    await store.retention.postponeLeftovers(uid);
  };

  const clearAllLeftovers = async (): Promise<void> => {
    for (;;) {
      // What could not be cleared is named again in a minute, so the list comes to its end.
      const uids = await store.retention.leftovers(PAGE);
      if (uids.length === 0) return;
      for (const uid of uids) {
        if (isStopped || !deps.isEngineUp()) return;
        await clearLeftovers(uid);
      }
    }
  };

  const reclaimSpace = async (): Promise<void> => {
    while (!isStopped && (await store.retention.reclaimSpace())) await nextTurnOfTheLoop();
  };

  const runOnce = async (): Promise<void> => {
    if (isStopped) return;
    try {
      if (deps.sessionsAfterDays !== null) await deleteOldSessions(deps.sessionsAfterDays);
      await clearAllLeftovers();
      await reclaimSpace();
    } catch (error) {
      logger.warn({ err: error }, 'the retention failed; it is tried again');
    }
  };

  const run = (): Promise<void> => {
    running = running.then(runOnce);
    return running;
  };
  running = store.retention.dropStrayFrames().then(
    () => undefined,
    (error: unknown) => {
      logger.warn({ err: error }, 'frames that nobody needs are left behind until the next start');
    },
  );
  void run();
  const timer = setInterval(() => void run(), deps.intervalMs ?? INTERVAL_MS);
  return {
    run,
    stop: async () => {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
