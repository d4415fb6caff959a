/**
 * Mends one session: cuts a damaged log to its last whole state, makes the rows of lists anew from the log, and closes
 * what the cut left open.
 *
 * Owns that all of it is one transaction, and that what is cut off is handed out before it goes. Nobody else works on
 * the database meanwhile.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import {
  sessionUidSchema,
  type Clock,
  type IdSource,
  type SessionId,
  type SessionUid,
} from '../../contract/ids.js';
import { evolve, INITIAL_STATE, type SessionState } from '../../core/session-state.js';
import { repairEvents } from '../../core/repair.js';
import { eventOfRow } from '../sql/rows.js';
import { projectChange } from '../sql/projections.js';
import type { EventsTable, LogTables, TurnsTable } from '../sql/schema.js';
import { deleteSession } from '../sql/sql-retention.js';
import type { SessionStore } from '../session-store.js';
import { turnOutput } from '../turn-output.js';
import type { SessionCheck } from './check-session.js';

/** The tenant of who has no key. */
const DEFAULT_TENANT = 'default';

/** Rows that are made from the log alone. Requests, keys and follow-ups hold more than the log does, and stay. */
const MADE_FROM_LOG = ['turns', 'approvals', 'session_metadata'] as const;

export interface SessionRepair {
  readonly ids: IdSource;
  readonly clock: Clock;
  /** Keeps the rows that are cut off, for a person. */
  readonly keep: (rows: readonly Selectable<EventsTable>[]) => void;
}

/** Mends what the check has found. Says what was done, in sentences; nothing where nothing was to be done. */
export async function repairSession(
  log: Kysely<LogTables>,
  store: SessionStore,
  check: SessionCheck,
  { ids, clock, keep }: SessionRepair,
): Promise<string[]> {
  const { session, damage, disagreements } = check;
  if (damage?.isUnsupported === true) return [];
  if (damage === null && disagreements.length === 0) return [];
  if (damage?.seq === 0) {
    await log.transaction().execute((db) => cutOff(db, session.uid, 0, keep));
    await deleteSession(log, session.uid, { clock });
    return [`nothing of its log is whole (${damage.reason}); the session was taken out`];
  }
  const lost = await log.transaction().execute(async (db) => {
    const cut = damage === null ? 0 : await cutOff(db, session.uid, damage.seq, keep);
    await projectAnew(db, check, damage !== null);
    return cut;
  });
  if (damage === null) return [`the lists were made anew from the log: ${disagreements.join('; ')}`];
  const what = `The log was cut to its last whole state: ${damage.reason}.`;
  await store.transact(session.uid, async (transaction) => {
    const { state } = transaction;
    const turn = state.openTurn;
    const output =
      turn === null
        ? null
        : await turnOutput(turn, (sha256) => transaction.readBlob(sha256)).catch(() => null);
    const closing = repairEvents(state, {
      what,
      lost,
      cause: 'log-damaged',
      note: 'The log was damaged in the turn, and what came after that is lost.',
      output,
      planOf: () => ({ effect: 'effect', mode: 'exclusive' }),
      ids,
    });
    await transaction.append(
      closing.length > 0
        ? closing
        : [{ type: 'session/repaired', data: { what, lost, cause: 'log-damaged' } }],
    );
  });
  return [`cut at event ${String(damage.seq)} (${damage.reason}); ${String(lost)} events were taken out`];
}

/**
 * Gives logs whose session is missing one again, with the log's uid as its id; how they stand is seen by their checks.
 * Returns those ids.
 */
export async function restoreSessions(log: Kysely<LogTables>): Promise<SessionId[]> {
  const rows = await log
    .selectFrom('events')
    .leftJoin('sessions', 'sessions.uid', 'events.session_uid')
    .leftJoin('turns', 'turns.session_uid', 'events.session_uid')
    .select(({ fn }) => [
      'events.session_uid as uid',
      'events.at as created_at',
      fn.max('turns.tenant').as('tenant'),
    ])
    .where('events.seq', '=', 0)
    .where('sessions.uid', 'is', null)
    .groupBy(['events.session_uid', 'events.at'])
    .execute();
  const known = rows.filter(({ uid }) => sessionUidSchema.safeParse(uid).success);
  for (const { uid, created_at: createdAt, tenant } of known) {
    await log
      .insertInto('sessions')
      .values({
        uid,
        id: uid as unknown as SessionId,
        tenant: tenant ?? DEFAULT_TENANT,
        body_sha256: 'restored',
        created_at: createdAt,
        updated_at: createdAt,
        open_turn: null,
        cancel_requested: 0,
        status: 'idle',
        head_seq: -1,
      })
      .execute();
  }
  return known.map(({ uid }) => uid as unknown as SessionId);
}

/** Takes everything from a seq on out of the log. Returns how many events that were. */
async function cutOff(
  db: Transaction<LogTables>,
  uid: SessionUid,
  seq: number,
  keep: SessionRepair['keep'],
): Promise<number> {
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('session_uid', '=', uid)
    .where('seq', '>=', seq)
    .orderBy('seq')
    .execute();
  if (rows.length > 0) keep(rows);
  await db.deleteFrom('events').where('session_uid', '=', uid).where('seq', '>=', seq).execute();
  // What ran belongs to a turn that is closed now.
  for (const table of ['attempts', 'staged'] as const) {
    await db.deleteFrom(table).where('session_uid', '=', uid).execute();
  }
  await db
    .deleteFrom('requests')
    .where('session_uid', '=', uid)
    .where('cursor_seq', '>=', seq - 1)
    .execute();
  return rows.length;
}

/** Makes the rows of lists from the log, as its appends made them. The run that has an open turn keeps it. */
async function projectAnew(db: Transaction<LogTables>, check: SessionCheck, isCut: boolean): Promise<void> {
  const { uid, tenant, id, updated_at: updatedAt } = check.session;
  const owned = isCut
    ? []
    : await db
        .selectFrom('turns')
        .selectAll()
        .where('session_uid', '=', uid)
        .where('ended_at', 'is', null)
        .execute();
  for (const table of MADE_FROM_LOG) await db.deleteFrom(table).where('session_uid', '=', uid).execute();
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('session_uid', '=', uid)
    .orderBy('seq')
    .execute();
  const running = isCut ? [] : await stepRows(db, uid);
  let state: SessionState = INITIAL_STATE;
  for (const row of rows) {
    const event = eventOfRow(id, row);
    const after = evolve(state, event);
    const turn = after.openTurn;
    const opened = turn !== null && turn.number !== state.openTurn?.number ? [turn] : [];
    await projectChange(
      db,
      { uid, tenant, at: event.at },
      { before: state.inbox, added: [event], opened, after },
    );
    state = after;
  }
  for (const row of owned) await keepOwner(db, row);
  for (const put of running) await put();
  await db.updateTable('sessions').set({ updated_at: updatedAt }).where('uid', '=', uid).execute();
}

async function keepOwner(db: Transaction<LogTables>, row: Selectable<TurnsTable>): Promise<void> {
  await db
    .updateTable('turns')
    .set({ owner_run_id: row.owner_run_id, former_run_ids: row.former_run_ids })
    .where('session_uid', '=', row.session_uid)
    .where('turn', '=', row.turn)
    .execute();
}

/** What ends with its step and is no part of the log: read now, to be put back after all steps were gone through again. */
async function stepRows(db: Transaction<LogTables>, uid: SessionUid): Promise<(() => Promise<unknown>)[]> {
  const attempts = await db.selectFrom('attempts').selectAll().where('session_uid', '=', uid).execute();
  const staged = await db.selectFrom('staged').selectAll().where('session_uid', '=', uid).execute();
  return [
    ...attempts.map(
      (row) => () =>
        db
          .insertInto('attempts')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute(),
    ),
    ...staged.map(
      (row) => () =>
        db
          .insertInto('staged')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute(),
    ),
  ];
}
