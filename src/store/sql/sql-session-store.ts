/**
 * The session log over SQL, written once for every backend: what differs comes as a {@link SqlBackend}.
 *
 * Owns commit and notification, the cache of folded states and the reads. What happens inside a transaction is in
 * `sql-transaction.ts`.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Chunk } from '../../contract/chunks.js';
import { eventKeys } from '../../contract/event-keys.js';
import type { NewEvent, SessionEvent } from '../../contract/events.js';
import type {
  ApprovalId,
  Clock,
  QuestionId,
  RequestId,
  SessionId,
  SessionUid,
  Sha256,
} from '../../contract/ids.js';
import { livePlaces } from '../../core/frames.js';
import { evolve, INITIAL_STATE, type SessionState } from '../../core/session-state.js';
import type { ArchiveStore } from '../archive-store.js';
import type { FollowUpStore } from '../follow-up-store.js';
import type { KeyStore } from '../key-store.js';
import type { LivenessStore } from '../liveness-store.js';
import { Notifier } from '../notifier.js';
import type { RetentionStore } from '../retention-store.js';
import {
  StoreError,
  type AskQuery,
  type AskRecord,
  type AttemptRef,
  type CreateSession,
  type EventPageQuery,
  type LogTransaction,
  type OpenTurnRecord,
  type RequestRecord,
  type SessionCreation,
  type SessionRecord,
  type SessionStore,
  type StoredBlob,
  type StoreNotice,
  type TailPage,
  type TransactOptions,
  type TurnRecord,
} from '../session-store.js';
import { fenced } from './attempts.js';
import { digestOf } from '../digest.js';
import {
  findAsk,
  listAsks,
  listSessions,
  openTurns,
  insertBlob,
  selectBlob,
  selectSession,
  selectSessionByUid,
} from './queries.js';
import { eventOfRow, sessionOfRow } from './rows.js';
import { readEventPage } from './event-page.js';
import { SqlArchive } from './sql-archive.js';
import { SqlFrames } from './sql-frames.js';
import { SqlKeyStore } from './sql-key-store.js';
import { SqlLivenessStore } from './sql-liveness.js';
import { MODEL_CALL, type FrameTables, type LogTables } from './schema.js';
import { findRequest, SqlTransaction } from './sql-transaction.js';
import { SqlFollowUpStore } from './sql-follow-ups.js';
import { deleteSession, SqlRetention } from './sql-retention.js';
import { StateCache } from './state-cache.js';
import { findTurn, listTurns, listTurnsOfTenant } from './turn-lists.js';

/** What a backend brings. */
export interface SqlBackend {
  readonly kind: SessionStore['kind'];
  readonly log: Kysely<LogTables>;
  /** The database of the frames; it may be the log's own. */
  readonly frames: Kysely<FrameTables>;
  /** Runs one transaction on the log's database, whose commit is as durable as asked. */
  transaction<T>(
    durability: NonNullable<TransactOptions['durability']>,
    work: (db: Transaction<LogTables>) => Promise<T>,
  ): Promise<T>;
  /** False from a transaction that the database could not take until one that it took. */
  isWritable(): boolean;
  /** Gives a bounded part of the free space back to the file system; true while there may be more. */
  reclaimSpace(): Promise<boolean>;
  /** The error as a `StoreError` where it says that the database is away or full; else as it is. */
  translate(error: unknown): unknown;
  close(): Promise<void>;
}

export interface SqlStoreOptions {
  readonly clock: Clock;
  /** Told of observers that threw; they disturb nothing else. */
  readonly onObserverError: (error: unknown) => void;
}

export class SqlSessionStore implements SessionStore {
  readonly kind: SessionStore['kind'];
  readonly keys: KeyStore;
  readonly followUps: FollowUpStore;
  readonly archive: ArchiveStore;
  readonly retention: RetentionStore;
  readonly liveness: LivenessStore;
  readonly #states = new StateCache();
  readonly #frames: SqlFrames;
  readonly #notifier: Notifier;

  constructor(
    private readonly backend: SqlBackend,
    private readonly options: SqlStoreOptions,
  ) {
    this.kind = backend.kind;
    this.keys = new SqlKeyStore(backend.log, {
      clock: options.clock,
      guard: (work) => this.#guard(work),
    });
    this.followUps = new SqlFollowUpStore(backend.log, {
      clock: options.clock,
      guard: (work) => this.#guard(work),
    });
    this.liveness = new SqlLivenessStore(backend, (work) => this.#guard(work));
    this.#frames = new SqlFrames(backend.frames);
    this.retention = new SqlRetention(backend.log, {
      frames: this.#frames,
      clock: options.clock,
      guard: (work) => this.#guard(work),
      reclaimSpace: () => backend.reclaimSpace(),
    });
    this.archive = new SqlArchive(backend, {
      clock: options.clock,
      guard: (work) => this.#guard(work),
      transactionOf: (db, record, state) => this.#transaction(db, record, state, this.#now()),
      clear: (uid) => this.retention.clearLeftovers(uid),
      onImported: (uid, state) => {
        this.#committed(uid, state, -1, true);
      },
    });
    this.#notifier = new Notifier(options.onObserverError);
  }

  async createSession<T>(
    session: CreateSession,
    first?: (transaction: LogTransaction) => Promise<T>,
  ): Promise<SessionCreation<T>> {
    const created = await this.#guard(() =>
      this.backend.transaction('full', async (db) => {
        const standing = await selectSession(db, session.tenant, session.id);
        if (standing !== undefined) {
          if (standing.body_sha256 === session.bodySha256) {
            return { creation: { record: sessionOfRow(standing), created: false } };
          }
          throw new StoreError('SESSION_CONFLICT', `Session ${session.id} exists with other settings.`);
        }
        const at = this.#now();
        await db
          .insertInto('sessions')
          .values({
            uid: session.uid,
            id: session.id,
            tenant: session.tenant,
            body_sha256: session.bodySha256,
            created_at: at,
            updated_at: at,
            open_turn: null,
            status: 'idle',
            head_seq: -1,
            cancel_requested: 0,
          })
          .execute();
        const events: NewEvent[] = [
          {
            type: 'session/created',
            key: eventKeys.sessionCreated(),
            data: { settings: session.settings },
          },
        ];
        if (session.title !== undefined) {
          events.push({ type: 'session/title', data: { title: session.title, source: 'user' } });
        }
        const record: SessionRecord = {
          uid: session.uid,
          id: session.id,
          tenant: session.tenant,
          bodySha256: session.bodySha256,
          createdAt: at,
          updatedAt: at,
          openTurn: null,
          headSeq: events.length - 1,
          status: 'idle',
        };
        const transaction = this.#transaction(db, record, INITIAL_STATE, at);
        await transaction.append(events);
        if (first === undefined) return { creation: { record, created: true }, state: transaction.state };
        const result = await first(transaction);
        const creation = { record: await this.#session(db, session.uid), created: true, first: result };
        return { creation, state: transaction.state };
      }),
    );
    if (created.state !== undefined) this.#committed(session.uid, created.state, -1);
    return created.creation;
  }

  async findSession(tenant: string, id: SessionId): Promise<SessionRecord | undefined> {
    const row = await this.#guard(() => selectSession(this.backend.log, tenant, id));
    return row === undefined ? undefined : sessionOfRow(row);
  }

  async findSessionByUid(uid: SessionUid): Promise<SessionRecord | undefined> {
    const row = await this.#guard(() => selectSessionByUid(this.backend.log, uid));
    return row === undefined ? undefined : sessionOfRow(row);
  }

  async listSessions(query: Parameters<SessionStore['listSessions']>[0]): Promise<readonly SessionRecord[]> {
    return this.#guard(() => listSessions(this.backend.log, query));
  }

  async deleteSession(
    uid: SessionUid,
    { unchangedSince }: { readonly unchangedSince?: string } = {},
  ): Promise<boolean> {
    const deleted = await this.#guard(async () => {
      const standing = await selectSessionByUid(this.backend.log, uid);
      const { clock } = this.options;
      if (!(await deleteSession(this.backend.log, uid, { clock, unchangedSince }))) return undefined;
      // The session is gone already; what cannot be dropped now is found among the leftovers.
      await this.#frames.deleteSession(uid).catch(this.options.onObserverError);
      return standing;
    });
    if (deleted === undefined) return false;
    this.#states.drop(uid);
    this.#notifier.notify({ kind: 'deleted', uid, id: deleted.id, tenant: deleted.tenant });
    return true;
  }

  async transact<T>(
    uid: SessionUid,
    work: (transaction: LogTransaction) => Promise<T>,
    { durability = 'full' }: TransactOptions = {},
  ): Promise<T> {
    const { result, state, before } = await this.#guard(() =>
      this.backend.transaction(durability, async (db) => {
        const { record, state: standing } = await this.#load(db, uid);
        const transaction = this.#transaction(db, record, standing, this.#now());
        const outcome = await work(transaction);
        return { result: outcome, state: transaction.state, before: standing.headSeq };
      }),
    );
    this.#committed(uid, state, before);
    return result;
  }

  async readState(uid: SessionUid): Promise<SessionState> {
    return this.#guard(async () => {
      const { headSeq } = await this.#session(this.backend.log, uid);
      const cached = this.#states.get(uid);
      // It may be newer than the row: what was committed since is in it.
      if (cached !== undefined && cached.headSeq >= headSeq) return cached;
      const { state } = await this.backend.log.transaction().execute((db) => this.#load(db, uid));
      this.#states.put(uid, state);
      return state;
    });
  }

  async readEvents(uid: SessionUid, query: EventPageQuery): Promise<readonly SessionEvent[]> {
    return this.#guard(async () => {
      const session = await this.#session(this.backend.log, uid);
      return readEventPage(this.backend.log, session, query);
    });
  }

  async readTail(
    uid: SessionUid,
    cursor: { readonly seq: number; readonly frame: number; readonly limit: number },
  ): Promise<TailPage> {
    return this.#guard(async () => {
      // One transaction, so that state and events are of one cut. Frames are read after it: those that came later
      // have a later seq and wait for the next page; those that were dropped meanwhile are settled by a later event.
      const { events, state } = await this.backend.log.transaction().execute(async (db) => {
        const { record, state: now } = await this.#load(db, uid);
        if (cursor.seq >= now.headSeq) return { events: [], state: now };
        const rows = await db
          .selectFrom('events')
          .selectAll()
          .where('session_uid', '=', uid)
          .where('seq', '>', cursor.seq)
          .orderBy('seq')
          .limit(cursor.limit)
          .execute();
        return { events: rows.map((row) => eventOfRow(record.id, row)), state: now };
      });
      this.#states.put(uid, state);
      const reached = (events.at(-1)?.seq ?? cursor.seq) >= state.headSeq;
      const live = reached ? livePlaces(state) : null;
      const headFrame = await this.#frames.head(uid);
      const frames =
        live === null || headFrame <= cursor.frame
          ? []
          : await this.#frames.live(uid, live, {
              after: cursor.frame,
              upToSeq: state.headSeq,
              limit: cursor.limit,
            });
      return { events, frames, headSeq: state.headSeq, headFrame };
    });
  }

  async findTurn(uid: SessionUid, turn: number): Promise<TurnRecord | undefined> {
    return this.#guard(() => findTurn(this.backend.log, uid, turn));
  }

  async listTurns(
    uid: SessionUid,
    query: Parameters<SessionStore['listTurns']>[1],
  ): Promise<readonly TurnRecord[]> {
    return this.#guard(() => listTurns(this.backend.log, uid, query));
  }

  async listTurnsOfTenant(
    tenant: string,
    query: Parameters<SessionStore['listTurnsOfTenant']>[1],
  ): Promise<readonly TurnRecord[]> {
    return this.#guard(() => listTurnsOfTenant(this.backend.log, tenant, query));
  }

  async findAsk(tenant: string, id: ApprovalId | QuestionId): Promise<AskRecord | undefined> {
    return this.#guard(() => findAsk(this.backend.log, tenant, id));
  }

  async listAsks(query: AskQuery): Promise<readonly AskRecord[]> {
    return this.#guard(() => listAsks(this.backend.log, query));
  }

  async openTurns(quietSince: string): Promise<readonly OpenTurnRecord[]> {
    return this.#guard(() => openTurns(this.backend.log, quietSince));
  }

  async appendFrame(
    uid: SessionUid,
    ref: AttemptRef,
    frame: { readonly index: number; readonly chunks: readonly Chunk[] },
  ): Promise<number> {
    const number = await this.#guard(async () => {
      const head = await this.backend.log
        .selectFrom('attempts')
        .innerJoin('sessions', 'sessions.uid', 'attempts.session_uid')
        .select('sessions.head_seq')
        .where('attempts.session_uid', '=', uid)
        .where('attempts.turn', '=', ref.turn)
        .where('attempts.step', '=', ref.step)
        .where('attempts.call', '=', ref.call ?? MODEL_CALL)
        .where('attempts.attempt', '=', ref.attempt)
        .where('attempts.state', '=', 'running')
        .executeTakeFirst();
      if (head === undefined) throw fenced(ref);
      return this.#frames.append(uid, ref, { seq: head.head_seq, ...frame });
    });
    this.#notifier.notify({ kind: 'frames', uid, frame: number });
    return number;
  }

  async dropFrames(uid: SessionUid, turn: number, step: number): Promise<void> {
    await this.#guard(() => this.#frames.drop(uid, turn, step));
  }

  async saveBlob(uid: SessionUid, bytes: Uint8Array, mediaType: string): Promise<Sha256> {
    const sha256 = digestOf(bytes);
    await this.#guard(() =>
      this.backend.transaction('full', async (db) => {
        // A session that was deleted meanwhile must not leave a blob behind.
        await this.#session(db, uid);
        await insertBlob(db, uid, { sha256, bytes, mediaType });
      }),
    );
    return sha256;
  }

  async readBlob(uid: SessionUid, sha256: Sha256): Promise<StoredBlob | undefined> {
    return this.#guard(() => selectBlob(this.backend.log, uid, sha256));
  }

  async findRequest(scope: string, requestId: RequestId): Promise<RequestRecord | undefined> {
    return this.#guard(() => findRequest(this.backend.log, scope, requestId));
  }

  watch(uid: SessionUid | null, listener: (notice: StoreNotice) => void): () => void {
    return this.#notifier.watch(uid, listener);
  }

  async ping(): Promise<boolean> {
    try {
      await this.backend.log.selectFrom('sessions').select('uid').limit(1).execute();
      return this.backend.isWritable();
    } catch {
      // The answer is that the store does not answer.
      return false;
    }
  }

  async close(): Promise<void> {
    await this.backend.close();
  }

  #now(): string {
    return new Date(this.options.clock()).toISOString();
  }

  #transaction(
    db: Transaction<LogTables>,
    record: SessionRecord,
    state: SessionState,
    at: string,
  ): SqlTransaction {
    return new SqlTransaction(db, record, state, {
      at,
      frames: (ref) => this.#frames.ofAttempt(record.uid, ref),
    });
  }

  async #session(db: Kysely<LogTables>, uid: SessionUid): Promise<SessionRecord> {
    const row = await selectSessionByUid(db, uid);
    if (row === undefined) throw new StoreError('SESSION_NOT_FOUND', `There is no session ${uid}.`);
    return sessionOfRow(row);
  }

  /** The session with its state: the cached one and what came after it. In a transaction, so that both are of one cut. */
  async #load(
    db: Transaction<LogTables>,
    uid: SessionUid,
  ): Promise<{ record: SessionRecord; state: SessionState }> {
    const record = await this.#session(db, uid);
    const cached = this.#states.get(uid) ?? INITIAL_STATE;
    if (cached.headSeq === record.headSeq) return { record, state: cached };
    const rows = await db
      .selectFrom('events')
      .selectAll()
      .where('session_uid', '=', uid)
      .where('seq', '>', cached.headSeq)
      .orderBy('seq')
      .execute();
    let state = cached;
    for (const row of rows) {
      const event = eventOfRow(record.id, row);
      if (event.seq !== state.headSeq + 1) break;
      state = evolveStored(state, event);
    }
    if (state.headSeq !== record.headSeq) {
      throw new StoreError(
        'LOG_CORRUPT',
        `The log of session ${record.id} has nothing after event ${String(state.headSeq)} where ${String(record.headSeq)} should stand.`,
      );
    }
    return { record, state };
  }

  /** After a commit: remembers the state, then tells who watches. */
  #committed(uid: SessionUid, state: SessionState, before: number, isImport = false): void {
    this.#states.put(uid, state);
    const { headSeq } = state;
    if (headSeq <= before) return;
    this.#notifier.notify({
      kind: 'events',
      uid,
      afterSeq: before,
      headSeq,
      ...(isImport ? { isImport } : {}),
    });
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.backend.translate(error);
    }
  }
}

/** An event that is JSON but not of its type's shape is damage too, however it shows. */
function evolveStored(state: SessionState, event: SessionEvent): SessionState {
  try {
    return evolve(state, event);
  } catch (cause) {
    throw new StoreError(
      'LOG_CORRUPT',
      `Event ${String(event.seq)} of session ${event.sessionId} does not fit its type ${event.type}: the log is damaged there.`,
      { cause },
    );
  }
}
