/**
 * The session log's interface: what every backend promises, proved by one contract suite (`test/contract`).
 *
 * Owns durability, order, idempotence, fencing and notification. What an event means is decided in `core/`; when to
 * append which is decided by `admission.ts` and the activities.
 */
import type { Chunk, Frame } from '../contract/chunks.js';
import type { FollowUpRef } from '../contract/follow-up.js';
import type { EventType, NewEvent, SessionEvent } from '../contract/events.js';
import type { TurnRun } from '../contract/agent-turn.js';
import type {
  ApprovalId,
  ItemId,
  KeyId,
  QuestionId,
  RequestId,
  SessionId,
  SessionUid,
  Sha256,
} from '../contract/ids.js';
import type { SessionStatus, TurnStatusName } from '../contract/http.js';
import type { JsonValue } from '../contract/json.js';
import type { SessionSettings } from '../contract/session.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import type { Usage } from '../contract/usage.js';
import type { BlobBlock } from '../contract/content.js';
import type { PreExecuted } from '../core/permission.js';
import type { SessionState } from '../core/session-state.js';
import type { CallResult } from '../core/turn-progress.js';
import type { FollowUpOutcome, FollowUpStore, NewFollowUp } from './follow-up-store.js';
import type { ArchiveStore } from './archive-store.js';
import type { KeyStore } from './key-store.js';
import type { LivenessStore } from './liveness-store.js';
import type { RetentionStore } from './retention-store.js';

/** The row of a session: its identity and the projection that lists are made from. */
export interface SessionRecord {
  readonly uid: SessionUid;
  readonly id: SessionId;
  readonly tenant: string;
  /** The digest of the body that created it. */
  readonly bodySha256: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The open turn's number, also before it is entered; null while the session is idle. */
  readonly openTurn: number | null;
  readonly headSeq: number;
  readonly status: SessionStatus;
}

/** The row of a turn. For an open turn the state says more (`SessionState.openTurn`). */
export interface TurnRecord {
  readonly uid: SessionUid;
  readonly sessionId: SessionId;
  readonly turn: number;
  readonly ended: boolean;
  readonly requestIds: readonly RequestId[];
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly reason?: TurnEndReason;
  readonly output?: string | BlobBlock;
  /** As in `turn/end`: it may stand in the blob store. */
  readonly structured?: JsonValue;
  readonly usage: Usage;
  readonly steps: number;
  /** When the turn was opened, which is its place in lists across sessions. */
  readonly openedAt: string;
}

/** Where a turn stands in the lists across sessions. */
export type TurnPlace = Pick<TurnRecord, 'openedAt' | 'uid' | 'turn'>;

/** Which turns a list has; what is left out is not asked. */
export interface TurnFilter {
  readonly status?: TurnStatusName;
  /** The profile that the turn had at its entry. */
  readonly profile?: string;
  /** Started at this time or later, ISO 8601 in UTC with milliseconds. */
  readonly since?: string;
  /** Started before this time. */
  readonly until?: string;
  /** Entries that the metadata of the turn's session has now. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** An open turn, for the sweeper: `updatedAt` is when its session's log last grew. */
export interface OpenTurnRecord {
  readonly uid: SessionUid;
  readonly sessionId: SessionId;
  readonly turn: number;
  readonly updatedAt: string;
  readonly cancelRequested: boolean;
  readonly status: SessionStatus;
}

/** The row of an approval or a question; what is asked and how it was answered stands in the events. */
export interface AskRecord {
  readonly id: ApprovalId | QuestionId;
  readonly kind: 'approval' | 'question';
  readonly uid: SessionUid;
  readonly sessionId: SessionId;
  readonly turn: number;
  readonly step: number;
  readonly askedSeq: number;
  /** The event that closed it; null while it is open. */
  readonly closedSeq: number | null;
}

export interface AskQuery {
  readonly tenant: string;
  readonly kind: AskRecord['kind'];
  readonly limit: number;
  /** The id of the last one of the page before. */
  readonly before?: string;
  readonly uid?: SessionUid;
  /** Default: both. */
  readonly status?: 'open' | 'closed';
}

/** One attempt at a model call (`call` absent) or at a tool call. */
export interface AttemptRef {
  readonly turn: number;
  readonly step: number;
  readonly call?: number;
  readonly attempt: number;
}

/** Who makes an attempt: the workflow run, its activity and the engine's count of tries. */
export interface AttemptOwner {
  readonly run: TurnRun;
  readonly activityId: string;
  readonly engineAttempt: number;
}

/** A tool result that waits for its place in the order. */
export interface StagedResult extends CallResult {
  readonly index: number;
}

/** A claimed request id: what its first use was answered with. */
export interface RequestRecord {
  readonly uid: SessionUid;
  readonly bodySha256: string;
  readonly itemId: ItemId;
  /** The seq before the prompt's own events. */
  readonly cursorSeq: number;
  /** The turn that took the prompt, from its claim on. */
  readonly turn: number | null;
}

export interface StoredBlob {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** What came of a claim. `taken-over`: another run had the turn, the last of `formerRuns`. */
export type TurnClaim =
  | { readonly kind: 'held' }
  | { readonly kind: 'taken-over'; readonly formerRuns: number }
  | { readonly kind: 'refused' };

/** The answer to a request for an attempt. */
export type AttemptGrant =
  | {
      readonly kind: 'granted';
      readonly attempt: number;
      /** The attempts of the same call that were given up by this one: their worker is gone or away. */
      readonly lost: readonly number[];
    }
  /** The step is over, or another run owns the turn. */
  | { readonly kind: 'superseded' }
  /** A later try of the same activity has been here: this one is late, or the engine has lost its last commits. */
  | { readonly kind: 'stale' };

/**
 * One transaction on one session: everything in it commits together or not at all, alone of its session.
 * What was appended is in `state` at once. Inside of it only these methods may be called, never the store's own: a
 * backend may have one connection.
 */
export interface LogTransaction {
  readonly state: SessionState;
  readonly record: SessionRecord;
  /** The time of the transaction, ISO 8601. */
  readonly at: string;
  /**
   * Appends facts and returns them as they stand. One whose key is known is not appended again: the event that stands
   * there is returned in its place.
   *
   * @throws `StoreError` with code `INVALID_EVENT` for data that the catalogue does not allow.
   */
  append(events: readonly NewEvent[]): Promise<readonly SessionEvent[]>;
  /** Claims the turn for a run: one that never had it takes it over, one that has lost it never gets it back. */
  claimTurn(turn: number, run: TurnRun): Promise<TurnClaim>;
  /** Allots the next attempt of a call to an owner, or refuses one that came too late. */
  openAttempt(place: Omit<AttemptRef, 'attempt'>, owner: AttemptOwner): Promise<AttemptGrant>;
  /** Ends an attempt, or refuses with `StoreError` `ATTEMPT_FENCED` where it is not the one that runs. */
  closeAttempt(ref: AttemptRef): Promise<void>;
  /** Does nothing where the attempt runs. @throws `StoreError` `ATTEMPT_FENCED` where it does not. */
  requireAttempt(ref: AttemptRef): Promise<void>;
  /** The attempts of a step that run, model and tools. `step/end` fences them all. */
  runningAttempts(turn: number, step: number): Promise<readonly AttemptRef[]>;
  stage(turn: number, step: number, result: StagedResult): Promise<void>;
  staged(turn: number, step: number): Promise<readonly StagedResult[]>;
  /** Keeps the word of the pre-execute hooks on each call of the step, until the step ends; the first one stands. */
  savePreExecuted(turn: number, step: number, words: readonly (PreExecuted | null)[]): Promise<void>;
  /** What {@link savePreExecuted} kept; null where there is nothing. */
  preExecuted(turn: number, step: number): Promise<readonly (PreExecuted | null)[] | null>;
  /** Puts bytes into the blob store; the same bytes twice are one blob, with the media type that came first. */
  saveBlob(bytes: Uint8Array, mediaType: string): Promise<Sha256>;
  readBlob(sha256: Sha256): Promise<StoredBlob | undefined>;
  /** The media type of a blob, without its bytes; undefined where there is none. */
  blobType(sha256: Sha256): Promise<string | undefined>;
  /** Says anew what the bytes of a blob are. What events say of it stays as it is. */
  retypeBlob(sha256: Sha256, mediaType: string): Promise<void>;
  findRequest(scope: string, requestId: RequestId): Promise<RequestRecord | undefined>;
  /** The request that brought the item, also after the item has left the inbox. */
  requestOfItem(itemId: ItemId): Promise<RequestRecord | undefined>;
  claimRequest(
    scope: string,
    requestId: RequestId,
    request: Omit<RequestRecord, 'uid' | 'turn'>,
  ): Promise<void>;
  /** Counts a prompt of a key on the day of the transaction (UTC); false, and uncounted, where the limit is reached. */
  countPrompt(key: KeyId, limit: number): Promise<boolean>;
  /** Keeps what is to be done once the turn has ended; whatever ends it makes it due in the same transaction. */
  addFollowUp(followUp: NewFollowUp): Promise<void>;
  /** As {@link FollowUpStore.settle}, together with what the transaction appends. */
  settleFollowUp(ref: Omit<FollowUpRef, 'uid'>, outcome: FollowUpOutcome): Promise<void>;
  /** The live frames of an attempt, in order. */
  frames(ref: AttemptRef): Promise<readonly Frame[]>;
}

/** What a watcher is told: that something was committed, never the content. */
export type StoreNotice =
  /** The events after `afterSeq` up to `headSeq`. */
  | {
      readonly kind: 'events';
      readonly uid: SessionUid;
      readonly afterSeq: number;
      readonly headSeq: number;
      /** The session came from a file: what its events tell has not happened just now. */
      readonly isImport?: true;
    }
  | { readonly kind: 'frames'; readonly uid: SessionUid; readonly frame: number }
  /** With what no read can tell any more. */
  | {
      readonly kind: 'deleted';
      readonly uid: SessionUid;
      readonly id: SessionId;
      readonly tenant: string;
    };

/** What a follower reads in one go: a consistent cut of the log's tail. */
export interface TailPage {
  /** Events after `seq`, ascending, at most `limit`. */
  readonly events: readonly SessionEvent[];
  /**
   * Frames after `frame` of attempts that have not settled, ascending, each with the seq that the log had when it was
   * stored. Empty where `events` does not reach the head.
   */
  readonly frames: readonly { readonly seq: number; readonly frame: Frame }[];
  readonly headSeq: number;
  /** The highest frame number of the session, 0 before the first. */
  readonly headFrame: number;
}

export interface EventPageQuery {
  /** Exclusive; -1 is from the start. */
  readonly after?: number;
  /** Exclusive; the last `limit` events before it. */
  readonly before?: number;
  readonly limit: number;
  readonly types?: readonly EventType[];
  readonly turn?: number;
}

export interface CreateSession {
  readonly tenant: string;
  readonly id: SessionId;
  readonly uid: SessionUid;
  readonly settings: SessionSettings;
  readonly title?: string;
  /** The digest of the request body, which tells a repeated creation from a conflicting one. */
  readonly bodySha256: string;
}

/** What came of a creation. */
export interface SessionCreation<T> {
  readonly record: SessionRecord;
  /** False where the session was there already. */
  readonly created: boolean;
  /** What the work in the creation's transaction returned; absent where there was none, or nothing was created. */
  readonly first?: T;
}

export interface SessionStore {
  readonly kind: 'sqlite' | 'postgres';
  readonly keys: KeyStore;
  readonly followUps: FollowUpStore;
  readonly archive: ArchiveStore;
  readonly retention: RetentionStore;
  readonly liveness: LivenessStore;

  /**
   * Creates a session with its `session/created` and what `first` does in the same transaction, or returns the one that
   * stands there.
   *
   * @throws `StoreError` `SESSION_CONFLICT` where the id is taken with another body, or what `first` throws, with nothing
   * created.
   */
  createSession<T>(
    session: CreateSession,
    first?: (transaction: LogTransaction) => Promise<T>,
  ): Promise<SessionCreation<T>>;
  findSession(tenant: string, id: SessionId): Promise<SessionRecord | undefined>;
  findSessionByUid(uid: SessionUid): Promise<SessionRecord | undefined>;
  /** Newest first. `before` is the `uid` of the last one of the page before. */
  listSessions(query: {
    readonly tenant: string;
    readonly limit: number;
    readonly before?: string;
    readonly status?: SessionStatus;
  }): Promise<readonly SessionRecord[]>;
  /**
   * Deletes the session with all its data; false where there was none. With `unchangedSince` (ISO 8601) also where a turn
   * is open or the log has grown after that time, and then nothing is deleted.
   */
  deleteSession(uid: SessionUid, options?: { readonly unchangedSince?: string }): Promise<boolean>;

  /**
   * Runs `work` in one transaction on the session and notifies after the commit.
   *
   * @throws `StoreError` `SESSION_NOT_FOUND`, or what `work` throws, with nothing committed.
   */
  transact<T>(
    uid: SessionUid,
    work: (transaction: LogTransaction) => Promise<T>,
    options?: TransactOptions,
  ): Promise<T>;
  /** The state as of the last commit. @throws `StoreError` `SESSION_NOT_FOUND`. */
  readState(uid: SessionUid): Promise<SessionState>;
  readEvents(uid: SessionUid, query: EventPageQuery): Promise<readonly SessionEvent[]>;
  readTail(
    uid: SessionUid,
    cursor: { readonly seq: number; readonly frame: number; readonly limit: number },
  ): Promise<TailPage>;

  findTurn(uid: SessionUid, turn: number): Promise<TurnRecord | undefined>;
  /** Newest first; `before` is a turn number. */
  listTurns(
    uid: SessionUid,
    query: TurnFilter & { readonly limit: number; readonly before?: number },
  ): Promise<readonly TurnRecord[]>;
  /** The turns of all sessions, newest first; `before` is the last one of the page before. */
  listTurnsOfTenant(
    tenant: string,
    query: TurnFilter & { readonly limit: number; readonly before?: TurnPlace },
  ): Promise<readonly TurnRecord[]>;
  /** The open turns whose session's log has not grown since `quietSince` (ISO 8601). */
  openTurns(quietSince: string): Promise<readonly OpenTurnRecord[]>;

  findAsk(tenant: string, id: ApprovalId | QuestionId): Promise<AskRecord | undefined>;
  /** Newest first. */
  listAsks(query: AskQuery): Promise<readonly AskRecord[]>;

  /**
   * Stores chunks of a running attempt as one frame and notifies. Returns the frame's number.
   *
   * @throws `StoreError` `ATTEMPT_FENCED` where the attempt does not run any more.
   */
  appendFrame(
    uid: SessionUid,
    ref: AttemptRef,
    frame: { readonly index: number; readonly chunks: readonly Chunk[] },
  ): Promise<number>;
  /** Drops the frames of the turn's steps up to and with `step`, and those of the turns before it. */
  dropFrames(uid: SessionUid, turn: number, step: number): Promise<void>;

  /** As in a transaction. @throws `StoreError` `SESSION_NOT_FOUND`. */
  saveBlob(uid: SessionUid, bytes: Uint8Array, mediaType: string): Promise<Sha256>;
  readBlob(uid: SessionUid, sha256: Sha256): Promise<StoredBlob | undefined>;

  findRequest(scope: string, requestId: RequestId): Promise<RequestRecord | undefined>;

  /** Calls `listener` after each commit on the session (all sessions for null), until the returned function is called. */
  watch(uid: SessionUid | null, listener: (notice: StoreNotice) => void): () => void;

  /** Whether the store answers. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

export interface TransactOptions {
  /**
   * `full`, the default: once it is committed it survives a power cut. `relaxed`: it survives the end of any process; a
   * power cut may lose it, and then with all that was committed after it, up to the next `full` one.
   */
  readonly durability?: 'full' | 'relaxed';
}

export type StoreErrorCode =
  | 'SESSION_NOT_FOUND'
  | 'SESSION_CONFLICT'
  | 'INVALID_EVENT'
  | 'ATTEMPT_FENCED'
  | 'LOG_CORRUPT'
  | 'LOG_UNSUPPORTED'
  | 'SCHEMA_TOO_NEW'
  | 'SCHEMA_TOO_OLD'
  | 'STORE_UNAVAILABLE';

/** An error of the store, routed by `code`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  constructor(
    readonly code: StoreErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether the store refused a write because its attempt does not run any more. */
export function isFenced(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'ATTEMPT_FENCED';
}
