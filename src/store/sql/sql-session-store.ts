/**
 * The session log over SQL, written once for every backend: what differs comes as a {@link SqlBackend}.
 *
 * Owns commit and notification, the cache of folded states and the reads. What happens inside a transaction is in
 * `sql-transaction.ts`.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Chunk, Frame } from '../../contract/chunks.js';
import { eventKeys } from '../../contract/event-keys.js';
import type { NewEvent, SessionEvent } from '../../contract/events.js';
import type { Clock, RequestId, SessionId, SessionUid, Sha256 } from '../../contract/ids.js';
import { isLiveFrame } from '../../core/frames.js';
import { evolve, INITIAL_STATE, type SessionState } from '../../core/session-state.js';
import { Notifier } from '../notifier.js';
import {
  StoreError,
  type AttemptRef,
  type CreateSession,
  type EventPageQuery,
  type LogTransaction,
  type OpenTurnRecord,
  type RequestRecord,
  type SessionRecord,
  type SessionStore,
  type StoredBlob,
  type StoreNotice,
  type TailPage,
  type TurnRecord,
} from '../session-store.js';
import { fenced } from './attempts.js';
import { eventOfRow, frameOfRow, sessionOfRow, turnOfRow } from './rows.js';
import { MODEL_CALL, type FrameTables, type LogTables } from './schema.js';
import { findRequest, insertBlob, SqlTransaction } from './sql-transaction.js';
import { StateCache } from './state-cache.js';

/** What a backend brings. */
export interface SqlBackend {
  readonly kind: SessionStore['kind'];
  readonly log: Kysely<LogTables>;
  /** The database of the frames; it may be the log's own. */
  readonly frames: Kysely<FrameTables>;
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
  readonly #states = new StateCache();
  readonly #notifier: Notifier;

  constructor(
    private readonly backend: SqlBackend,
    private readonly options: SqlStoreOptions,
  ) {
    this.kind = backend.kind;
    this.#notifier = new Notifier(options.onObserverError);
  }

  async createSession(session: CreateSession): Promise<{ record: SessionRecord; created: boolean }> {
    const created = await this.#guard(() =>
      this.backend.log.transaction().execute(async (db) => {
        const standing = await selectSession(db, session.tenant, session.id);
        if (standing !== undefined) {
          if (standing.body_sha256 === session.bodySha256) {
            return { record: sessionOfRow(standing), created: false };
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
          createdAt: at,
          updatedAt: at,
          openTurn: null,
          headSeq: events.length - 1,
          status: 'idle',
        };
        const transaction = this.#transaction(db, record, INITIAL_STATE, at);
        await transaction.append(events);
        return { record, created: true, state: transaction.state };
      }),
    );
    if ('state' in created) this.#committed(created.record.uid, created.state, -1);
    return { record: created.record, created: created.created };
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
    let select = this.backend.log.selectFrom('sessions').selectAll().where('tenant', '=', query.tenant);
    // A UUIDv7 sorts by the time of its making.
    if (query.before !== undefined) select = select.where('uid', '<', query.before as SessionUid);
    if (query.status !== undefined) select = select.where('status', '=', query.status);
    const rows = await this.#guard(() => select.orderBy('uid', 'desc').limit(query.limit).execute());
    return rows.map(sessionOfRow);
  }

  async deleteSession(uid: SessionUid): Promise<boolean> {
    const deleted = await this.#guard(() =>
      this.backend.log.transaction().execute(async (db) => {
        for (const table of ['events', 'turns', 'attempts', 'staged', 'requests', 'blobs'] as const) {
          await db.deleteFrom(table).where('session_uid', '=', uid).execute();
        }
        const { numDeletedRows } = await db.deleteFrom('sessions').where('uid', '=', uid).executeTakeFirst();
        return numDeletedRows === 1n;
      }),
    );
    for (const table of ['frames', 'frame_heads'] as const) {
      await this.#guard(() => this.backend.frames.deleteFrom(table).where('session_uid', '=', uid).execute());
    }
    this.#states.drop(uid);
    if (deleted) this.#notifier.notify({ kind: 'deleted', uid });
    return deleted;
  }

  async transact<T>(uid: SessionUid, work: (transaction: LogTransaction) => Promise<T>): Promise<T> {
    const { result, state, before } = await this.#guard(() =>
      this.backend.log.transaction().execute(async (db) => {
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
      const backwards = query.before !== undefined;
      let select = this.backend.log.selectFrom('events').selectAll().where('session_uid', '=', uid);
      if (query.after !== undefined) select = select.where('seq', '>', query.after);
      if (query.before !== undefined) select = select.where('seq', '<', query.before);
      if (query.types !== undefined) select = select.where('type', 'in', query.types);
      if (query.turn !== undefined) select = select.where('turn', '=', query.turn);
      const rows = await select
        .orderBy('seq', backwards ? 'desc' : 'asc')
        .limit(query.limit)
        .execute();
      return (backwards ? rows.reverse() : rows).map((row) => eventOfRow(session.id, row));
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
      const step = state.openTurn?.step;
      const headFrame = await this.#headFrame(uid);
      if (!reached || step == null || headFrame <= cursor.frame) {
        return { events, frames: [], headSeq: state.headSeq, headFrame };
      }
      const rows = await this.backend.frames
        .selectFrom('frames')
        .selectAll()
        .where('session_uid', '=', uid)
        .where('frame', '>', cursor.frame)
        .where('turn', '=', state.openTurn?.number ?? 0)
        .where('step', '=', step.number)
        .where('seq', '<=', state.headSeq)
        .orderBy('frame')
        .limit(cursor.limit)
        .execute();
      const frames = rows.map(frameOfRow).filter(({ frame }) => isLiveFrame(state, frame));
      return { events, frames, headSeq: state.headSeq, headFrame };
    });
  }

  async findTurn(uid: SessionUid, turn: number): Promise<TurnRecord | undefined> {
    const row = await this.#guard(() => this.#turns(uid).where('turns.turn', '=', turn).executeTakeFirst());
    return row === undefined ? undefined : turnOfRow(row);
  }

  async listTurns(
    uid: SessionUid,
    query: { readonly limit: number; readonly before?: number },
  ): Promise<readonly TurnRecord[]> {
    let select = this.#turns(uid);
    if (query.before !== undefined) select = select.where('turns.turn', '<', query.before);
    const rows = await this.#guard(() => select.orderBy('turns.turn', 'desc').limit(query.limit).execute());
    return rows.map(turnOfRow);
  }

  #turns(uid: SessionUid) {
    return this.backend.log
      .selectFrom('turns')
      .innerJoin('sessions', 'sessions.uid', 'turns.session_uid')
      .selectAll('turns')
      .select('sessions.id as session_id')
      .where('turns.session_uid', '=', uid);
  }

  async openTurns(quietSince: string): Promise<readonly OpenTurnRecord[]> {
    const rows = await this.#guard(() =>
      this.backend.log
        .selectFrom('sessions')
        .select(['uid', 'id', 'open_turn', 'updated_at', 'cancel_requested'])
        .where('open_turn', 'is not', null)
        .where('updated_at', '<=', quietSince)
        .orderBy('updated_at')
        .execute(),
    );
    return rows.map((row) => ({
      uid: row.uid,
      sessionId: row.id,
      turn: row.open_turn ?? 0,
      updatedAt: row.updated_at,
      cancelRequested: row.cancel_requested === 1,
    }));
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
      return this.backend.frames.transaction().execute(async (db) => {
        const last = await db
          .insertInto('frame_heads')
          .values({ session_uid: uid, frame: 1 })
          .onConflict((conflict) =>
            conflict.column('session_uid').doUpdateSet((set) => ({
              frame: set('frame_heads.frame', '+', 1),
            })),
          )
          .returning('frame')
          .executeTakeFirstOrThrow();
        await db
          .insertInto('frames')
          .values({
            session_uid: uid,
            frame: last.frame,
            seq: head.head_seq,
            turn: ref.turn,
            step: ref.step,
            call: ref.call ?? MODEL_CALL,
            attempt: ref.attempt,
            chunk_index: frame.index,
            chunks: JSON.stringify(frame.chunks),
          })
          .execute();
        return last.frame;
      });
    });
    this.#notifier.notify({ kind: 'frames', uid, frame: number });
    return number;
  }

  async dropFrames(uid: SessionUid, turn: number, step: number): Promise<void> {
    await this.#guard(() =>
      this.backend.frames
        .deleteFrom('frames')
        .where('session_uid', '=', uid)
        .where('turn', '=', turn)
        .where('step', '<=', step)
        .execute(),
    );
  }

  async saveBlob(uid: SessionUid, bytes: Uint8Array, mediaType: string): Promise<Sha256> {
    return this.#guard(() =>
      this.backend.log.transaction().execute(async (db) => {
        // A session that was deleted meanwhile must not leave a blob behind.
        await this.#session(db, uid);
        return insertBlob(db, uid, { bytes, mediaType });
      }),
    );
  }

  async readBlob(uid: SessionUid, sha256: Sha256): Promise<StoredBlob | undefined> {
    const row = await this.#guard(() =>
      this.backend.log
        .selectFrom('blobs')
        .select(['bytes', 'media_type'])
        .where('session_uid', '=', uid)
        .where('sha256', '=', sha256)
        .executeTakeFirst(),
    );
    return row === undefined ? undefined : { bytes: row.bytes, mediaType: row.media_type };
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
      return true;
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
    return new SqlTransaction(db, record, state, { at, frames: (ref) => this.#framesOf(record.uid, ref) });
  }

  async #framesOf(uid: SessionUid, ref: AttemptRef): Promise<readonly Frame[]> {
    const rows = await this.backend.frames
      .selectFrom('frames')
      .selectAll()
      .where('session_uid', '=', uid)
      .where('turn', '=', ref.turn)
      .where('step', '=', ref.step)
      .where('call', '=', ref.call ?? MODEL_CALL)
      .where('attempt', '=', ref.attempt)
      .orderBy('frame')
      .execute();
    return rows.map((row) => frameOfRow(row).frame);
  }

  async #headFrame(uid: SessionUid): Promise<number> {
    const row = await this.backend.frames
      .selectFrom('frame_heads')
      .select('frame')
      .where('session_uid', '=', uid)
      .executeTakeFirst();
    return row?.frame ?? 0;
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
  #committed(uid: SessionUid, state: SessionState, before: number): void {
    this.#states.put(uid, state);
    if (state.headSeq > before) this.#notifier.notify({ kind: 'events', uid, headSeq: state.headSeq });
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

function selectSession(db: Kysely<LogTables>, tenant: string, id: SessionId) {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('tenant', '=', tenant)
    .where('id', '=', id)
    .executeTakeFirst();
}

function selectSessionByUid(db: Kysely<LogTables>, uid: SessionUid) {
  return db.selectFrom('sessions').selectAll().where('uid', '=', uid).executeTakeFirst();
}
