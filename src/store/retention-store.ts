/**
 * What a store does so that sessions that are gone leave nothing behind: which ones are old, what may be left of deleted
 * ones, and the space that they had. Proved by the contract suite of the store.
 *
 * Owns no decision: what is deleted, and when, is decided in `runtime/retention.ts`.
 */
import type { SessionUid } from '../contract/ids.js';
import type { SessionRecord } from './session-store.js';

export interface RetentionStore {
  /** Sessions of all tenants without an open turn whose log has not grown since `unchangedSince` (ISO 8601), oldest first. */
  idleSessions(query: {
    readonly unchangedSince: string;
    readonly limit: number;
  }): Promise<readonly SessionRecord[]>;
  /**
   * Sessions that were deleted, and imports that were given up, of which something may be left outside of the log's
   * rows. They are named from a minute after the deletion on, so that what was under way at that time has come to rest.
   */
  leftovers(limit: number): Promise<readonly SessionUid[]>;
  /** Names the session again after a minute. */
  postponeLeftovers(uid: SessionUid): Promise<void>;
  /** Removes every row and frame that is left of a session that is not there, and forgets it. */
  clearLeftovers(uid: SessionUid): Promise<void>;
  /** Drops the frames of sessions that are gone and of turns that have ended. Returns of how many sessions. */
  dropStrayFrames(): Promise<number>;
  /** Gives a bounded part of the free space back to the file system; true while there may be more. */
  reclaimSpace(): Promise<boolean>;
}
