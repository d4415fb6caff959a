/**
 * Whole sessions in and out of a store: what a file of a session is made of, and how one becomes a session again.
 *
 * Owns that an import shows nothing of itself before it is complete, however large it is. What the file looks like is in
 * `archive/`.
 */
import type { SessionEvent } from '../contract/events.js';
import type { SessionId, SessionUid, Sha256 } from '../contract/ids.js';
import type { SessionState } from '../core/session-state.js';
import type { LogTransaction, SessionRecord } from './session-store.js';

/** An event with what the store knows beside it. */
export interface ArchivedEvent {
  readonly event: SessionEvent;
  /** The key that makes its append idempotent. */
  readonly key?: string;
  /** Of an event that brought a prompt: by what a repetition of the request is known, and how it is answered. */
  readonly request?: { readonly bodySha256: string; readonly cursorSeq: number };
}

export interface ArchiveStore {
  /** Events after `after` up to and with `upTo`, ascending, at most `limit`. */
  read(
    uid: SessionUid,
    range: { readonly after: number; readonly upTo: number; readonly limit: number },
  ): Promise<readonly ArchivedEvent[]>;
  /** The digests of all blobs of the session. */
  blobs(uid: SessionUid): Promise<readonly Sha256[]>;
  /** Begins an import. @throws `StoreError` `SESSION_CONFLICT` where the id is taken. */
  beginImport(session: NewArchivedSession): Promise<SessionImport>;
}

export interface NewArchivedSession {
  readonly tenant: string;
  readonly id: SessionId;
  /** One that was never used. */
  readonly uid: SessionUid;
}

/** An import under way. One that is neither committed nor abandoned, and rests for ten minutes, is given up. */
export interface SessionImport {
  /** The fold of what was added. */
  readonly state: SessionState;
  saveBlob(bytes: Uint8Array, mediaType: string): Promise<Sha256>;
  /**
   * Adds events with their times, after those that were added before.
   *
   * @throws `StoreError` `INVALID_EVENT` where one cannot stand there, with none of them added.
   */
  add(events: readonly ArchivedEvent[]): Promise<void>;
  /**
   * Makes a session of what was added. What `finish` appends and what it throws belongs to the same transaction.
   *
   * @throws `StoreError` `SESSION_CONFLICT` where the id was taken meanwhile.
   */
  commit(finish: (transaction: LogTransaction) => Promise<void>): Promise<SessionRecord>;
  /** Removes what was added. */
  abandon(): Promise<void>;
}
