/**
 * Whole sessions in and out of SQL: events with their keys, and imports in pieces.
 *
 * Owns that an import is invisible and leaves nothing behind: its rows stand under a uid that no session has, noted among
 * the leftovers, until the last transaction makes it a session and strikes the note out.
 */
import type { Transaction } from 'kysely';
import { eventKeys } from '../../contract/event-keys.js';
import type { Clock, ItemId, RequestId, SessionUid, Sha256 } from '../../contract/ids.js';
import { evolve, INITIAL_STATE, sessionStatus, type SessionState } from '../../core/session-state.js';
import { sessionScope } from '../admission.js';
import type { ArchivedEvent, ArchiveStore, NewArchivedSession, SessionImport } from '../archive-store.js';
import { digestOf } from '../digest.js';
import { StoreError, type LogTransaction, type SessionRecord } from '../session-store.js';
import { chunked } from './chunked.js';
import { projectChange } from './projections.js';
import { insertBlob, selectSession } from './queries.js';
import { eventOfRow, rowOfEvent, sessionOfRow } from './rows.js';
import type { LogTables } from './schema.js';
import { noteLeftovers, timeAfter } from './sql-retention.js';
import type { SqlBackend } from './sql-session-store.js';
import type { SqlTransaction } from './sql-transaction.js';

/** An import of which nothing more comes for this long is given up. */
const GIVEN_UP_AFTER_MS = 600_000;

export interface SqlArchiveDeps {
  readonly clock: Clock;
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
  readonly transactionOf: (
    db: Transaction<LogTables>,
    record: SessionRecord,
    state: SessionState,
  ) => SqlTransaction;
  readonly onImported: (uid: SessionUid, state: SessionState) => void;
  /** Removes what stands under a uid that no session has. */
  readonly clear: (uid: SessionUid) => Promise<void>;
}

type Backend = Pick<SqlBackend, 'log' | 'transaction'>;

export class SqlArchive implements ArchiveStore {
  constructor(
    private readonly backend: Backend,
    private readonly deps: SqlArchiveDeps,
  ) {}

  async read(
    uid: SessionUid,
    { after, upTo, limit }: Parameters<ArchiveStore['read']>[1],
  ): Promise<readonly ArchivedEvent[]> {
    return this.deps.guard(async () => {
      const rows = await this.backend.log
        .selectFrom('events')
        .innerJoin('sessions', 'sessions.uid', 'events.session_uid')
        .selectAll('events')
        .select('sessions.id as session_id')
        .where('events.session_uid', '=', uid)
        .where('events.seq', '>', after)
        .where('events.seq', '<=', upTo)
        .orderBy('events.seq')
        .limit(limit)
        .execute();
      const events = rows.map(({ session_id: sessionId, ...row }): ArchivedEvent => ({
        event: eventOfRow(sessionId, row),
        ...(row.key === null ? {} : { key: row.key }),
      }));
      return this.#withRequests(uid, events);
    });
  }

  async blobs(uid: SessionUid): Promise<readonly Sha256[]> {
    const rows = await this.deps.guard(() =>
      this.backend.log
        .selectFrom('blobs')
        .select('sha256')
        .where('session_uid', '=', uid)
        .orderBy('sha256')
        .execute(),
    );
    return rows.map(({ sha256 }) => sha256);
  }

  async beginImport(session: NewArchivedSession): Promise<SessionImport> {
    await this.deps.guard(async () => {
      if ((await selectSession(this.backend.log, session.tenant, session.id)) !== undefined)
        throw taken(session);
      await noteLeftovers(this.backend.log, session.uid, timeAfter(this.deps.clock, GIVEN_UP_AFTER_MS));
    });
    return new SqlImport(this.backend, this.deps, session);
  }

  async #withRequests(uid: SessionUid, events: readonly ArchivedEvent[]): Promise<readonly ArchivedEvent[]> {
    const ids = events.flatMap((entry) => requestIdOf(entry) ?? []);
    if (ids.length === 0) return events;
    const rows = await this.backend.log
      .selectFrom('requests')
      .select(['request_id', 'body_sha256', 'cursor_seq'])
      .where('scope', '=', sessionScope(uid))
      .where('request_id', 'in', ids)
      .execute();
    const requests = new Map(
      rows.map((row) => [row.request_id, { bodySha256: row.body_sha256, cursorSeq: row.cursor_seq }]),
    );
    return events.map((entry) => {
      const request = requests.get(requestIdOf(entry) ?? ('' as RequestId));
      return request === undefined ? entry : { ...entry, request };
    });
  }
}

class SqlImport implements SessionImport {
  #state = INITIAL_STATE;
  #createdAt = '';

  constructor(
    private readonly backend: Backend,
    private readonly deps: SqlArchiveDeps,
    private readonly session: NewArchivedSession,
  ) {}

  get state(): SessionState {
    return this.#state;
  }

  async saveBlob(bytes: Uint8Array, mediaType: string): Promise<Sha256> {
    const sha256 = digestOf(bytes);
    await this.#write((db) => insertBlob(db, this.session.uid, { sha256, bytes, mediaType }));
    return sha256;
  }

  async add(events: readonly ArchivedEvent[]): Promise<void> {
    const state = await this.#write(async (db) => {
      await this.#requireNewKeys(db, events);
      let after = this.#state;
      const { uid } = this.session;
      for (const some of chunked(events)) {
        await db
          .insertInto('events')
          .values(
            some.map(({ event, key }) =>
              rowOfEvent({ ...event, ...(key === undefined ? {} : { key }) }, { uid, ...event }),
            ),
          )
          .execute();
      }
      for (const entry of events) after = await this.#project(db, entry, after);
      return after;
    });
    this.#createdAt ||= events[0]?.event.at ?? '';
    this.#state = state;
  }

  async commit(finish: (transaction: LogTransaction) => Promise<void>): Promise<SessionRecord> {
    const { uid, id, tenant } = this.session;
    const { record, state } = await this.deps.guard(() =>
      // Fully synced, and with it all that was written before it.
      this.backend.transaction('full', async (db) => {
        if ((await selectSession(db, tenant, id)) !== undefined) throw taken(this.session);
        const { numDeletedRows } = await db
          .deleteFrom('leftovers')
          .where('session_uid', '=', uid)
          .executeTakeFirst();
        if (numDeletedRows !== 1n) throw givenUp();
        const row = {
          uid,
          id,
          tenant,
          // No body of a request: whoever creates a session of this id has another one.
          body_sha256: 'import',
          created_at: this.#createdAt,
          updated_at: timeAfter(this.deps.clock, 0),
          open_turn: this.#state.openTurn?.number ?? null,
          cancel_requested: this.#state.openTurn?.cancel == null ? 0 : 1,
          status: sessionStatus(this.#state),
          head_seq: this.#state.headSeq,
        };
        await db.insertInto('sessions').values(row).execute();
        const transaction = this.deps.transactionOf(db, sessionOfRow(row), this.#state);
        await finish(transaction);
        return { record: sessionOfRow(row), state: transaction.state };
      }),
    );
    this.deps.onImported(uid, state);
    return { ...record, headSeq: state.headSeq };
  }

  async abandon(): Promise<void> {
    await this.deps.clear(this.session.uid);
  }

  /** Writes under the uid for as long as the import was not given up. */
  async #write<T>(work: (db: Transaction<LogTables>) => Promise<T>): Promise<T> {
    return this.deps.guard(() =>
      this.backend.transaction('relaxed', async (db) => {
        const { numUpdatedRows } = await db
          .updateTable('leftovers')
          .set({ due_at: timeAfter(this.deps.clock, GIVEN_UP_AFTER_MS) })
          .where('session_uid', '=', this.session.uid)
          .executeTakeFirst();
        if (numUpdatedRows !== 1n) throw givenUp();
        return work(db);
      }),
    );
  }

  async #requireNewKeys(db: Transaction<LogTables>, events: readonly ArchivedEvent[]): Promise<void> {
    const keys = events.flatMap(({ key }) => key ?? []);
    const standing = new Set<string | null>();
    for (const some of chunked(keys)) {
      const rows = await db
        .selectFrom('events')
        .select('key')
        .where('session_uid', '=', this.session.uid)
        .where('key', 'in', some)
        .execute();
      for (const row of rows) standing.add(row.key);
    }
    for (const { key, event } of events) {
      if (key === undefined) continue;
      if (standing.has(key))
        throw new StoreError(
          'INVALID_EVENT',
          `Event ${String(event.seq)} has a key that stands in the log already.`,
        );
      standing.add(key);
    }
  }

  /** The rows that the event amounts to, and the state after it. */
  async #project(
    db: Transaction<LogTables>,
    entry: ArchivedEvent,
    before: SessionState,
  ): Promise<SessionState> {
    const { uid, tenant } = this.session;
    const { event, request } = entry;
    const requestId = requestIdOf(entry);
    if (request !== undefined && requestId !== undefined && event.type === 'agent/inbox/spliced') {
      await db
        .insertInto('requests')
        .values({
          scope: sessionScope(uid),
          request_id: requestId,
          session_uid: uid,
          body_sha256: request.bodySha256,
          item_id: event.data.inserted?.[0]?.itemId ?? ('' as ItemId),
          cursor_seq: request.cursorSeq,
          turn: null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    }
    const after = evolve(before, event);
    const turn = after.openTurn;
    const opened = turn !== null && turn.number !== before.openTurn?.number ? [turn] : [];
    await projectChange(
      db,
      { uid, tenant, at: event.at },
      { before: before.inbox, added: [event], opened, after },
    );
    return after;
  }
}

/** The request whose prompt the event brought. */
function requestIdOf({ event, key }: ArchivedEvent): RequestId | undefined {
  if (event.type !== 'agent/inbox/spliced') return undefined;
  const requestId = event.data.inserted?.[0]?.requestId;
  return requestId !== undefined && key === eventKeys.prompt(requestId) ? requestId : undefined;
}

function taken({ id }: NewArchivedSession): StoreError {
  return new StoreError('SESSION_CONFLICT', `There is a session ${id} already.`);
}

function givenUp(): StoreError {
  return new StoreError('INVALID_EVENT', 'The import rested for too long and was given up.');
}
