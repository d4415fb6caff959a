/**
 * Mends one session: cuts a damaged log to its last whole state, makes the rows of lists anew from the log, and closes
 * what the cut left open.
 *
 * Owns that the cut, its rows and what closes it are one transaction, and that what is cut off is handed out before it
 * goes. Nobody else works on the database meanwhile.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Clock, IdSource, SessionUid } from '../../contract/ids.js';
import { evolve, INITIAL_STATE, type SessionState } from '../../core/session-state.js';
import { EMPTY_INBOX, findItem, removeItem, type WaitingItem } from '../../core/inbox.js';
import { closingEvents } from '../../core/repair.js';
import { enterTurn } from '../../core/turn-progress.js';
import { projectChange } from '../sql/projections.js';
import { eventOfRow, sessionOfRow } from '../sql/rows.js';
import type {
  AttemptsTable,
  EventsTable,
  LogTables,
  SessionsTable,
  StagedTable,
  TurnsTable,
} from '../sql/schema.js';
import { deleteSession } from '../sql/sql-retention.js';
import { SqlTransaction } from '../sql/sql-transaction.js';
import { turnOutput } from '../turn-output.js';
import type { SessionCheck } from './check-session.js';
import { isJsonList } from './compare-rows.js';

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
  check: SessionCheck,
  repair: SessionRepair,
): Promise<string[]> {
  const { session, damage, disagreements, damagedBlobs } = check;
  if (damage?.isUnsupported === true) return [];
  const done: string[] = [];
  if (damagedBlobs.length > 0) {
    await log
      .deleteFrom('blobs')
      .where('session_uid', '=', session.uid)
      .where('sha256', 'in', damagedBlobs)
      .execute();
    done.push(`${String(damagedBlobs.length)} large contents that are not what they were are taken out`);
  }
  if (damage === null) {
    if (disagreements.length === 0) return done;
    await log.transaction().execute((db) => projectAnew(db, check));
    return [...done, `the lists were made anew from the log: ${disagreements.join('; ')}`];
  }
  if (damage.seq === 0) {
    await log.transaction().execute((db) => cutOff(db, session.uid, { from: 0, keep: repair.keep }));
    await deleteSession(log, session.uid, { clock: repair.clock });
    return [...done, `nothing of its log is whole (${damage.reason}); the session was taken out`];
  }
  const { lost, dropped } = await log.transaction().execute(async (db) => {
    const cut = await cutOff(db, session.uid, { from: damage.seq, keep: repair.keep });
    await projectAnew(db, check);
    await forgetLaterTurns(db, check);
    return closeTurn(db, check, { reason: damage.reason, cut, repair });
  });
  return [
    ...done,
    `cut at event ${String(damage.seq)} (${damage.reason}); ${String(lost)} events were taken out${dropped}`,
  ];
}

/** What was cut off a log. */
interface CutOff {
  readonly rows: readonly Selectable<EventsTable>[];
  /** The highest number that a turn had. */
  readonly usedTurns: number;
}

/** Says in the log that it was cut, and closes what the cut left open. */
async function closeTurn(
  db: Transaction<LogTables>,
  { session, state }: SessionCheck,
  { reason, cut, repair }: { readonly reason: string; readonly cut: CutOff; readonly repair: SessionRepair },
): Promise<{ readonly lost: number; readonly dropped: string }> {
  const lost = cut.rows.length;
  const transaction = new SqlTransaction(db, sessionOfRow(session), state, {
    at: new Date(repair.clock()).toISOString(),
    // No attempt goes on in a log that is cut.
    frames: () => Promise.resolve([]),
  });
  const taken = itemsTaken(state, session, cut.rows);
  const dropped =
    taken.length === 0
      ? ''
      : `; ${String(taken.length)} prompts that waited before it may have been worked on since, and do not wait any more`;
  await transaction.append([
    {
      type: 'session/repaired',
      data: {
        what: `The log was cut to its last whole state: ${reason}${dropped}.`,
        lost,
        usedTurns: cut.usedTurns,
        cause: 'log-damaged',
      },
    },
    ...taken.map(removeItem),
  ]);
  const { openTurn } = transaction.state;
  // What a turn that is only due was opened for is gone.
  if (openTurn?.started === false && taken.length > 0) {
    await transaction.append(enterTurn(openTurn.number, EMPTY_INBOX).events);
  }
  const turn = transaction.state.openTurn;
  const output =
    turn === null ? null : await turnOutput(turn, (sha256) => transaction.readBlob(sha256)).catch(() => null);
  await transaction.append(
    closingEvents(transaction.state, {
      note: 'The log was damaged in the turn, and what came after that is lost.',
      output,
      planOf: () => ({ effect: 'effect', mode: 'exclusive' }),
      ids: repair.ids,
    }),
  );
  return { lost, dropped };
}

/**
 * The items that wait at the cut and were taken in what came after it, or may have been: they are not to be worked on
 * twice. From last to first, as they can be removed.
 */
function itemsTaken(
  { inbox, headSeq }: SessionState,
  session: Selectable<SessionsTable>,
  rows: readonly Selectable<EventsTable>[],
): WaitingItem[] {
  const waiting = [...inbox.nextStep, ...inbox.nextTurn]
    .map(({ itemId }) => findItem(inbox, itemId))
    .filter((item) => item !== undefined)
    .reverse();
  const taken = new Set<string>();
  try {
    for (const row of rows) {
      const event = eventOfRow(session.id, row);
      if (event.type !== 'agent/inbox/spliced') continue;
      for (const itemId of event.data.removed ?? []) taken.add(itemId);
    }
  } catch {
    // One of them says nothing any more.
    return waiting;
  }
  const isComplete =
    rows.length >= session.head_seq - headSeq && rows.every(({ seq }, n) => seq === headSeq + 1 + n);
  return isComplete ? waiting.filter(({ entry }) => taken.has(entry.itemId)) : waiting;
}

/** Takes everything from a seq on out of the log. */
async function cutOff(
  db: Transaction<LogTables>,
  uid: SessionUid,
  { from, keep }: { readonly from: number; readonly keep: SessionRepair['keep'] },
): Promise<CutOff> {
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('session_uid', '=', uid)
    .where('seq', '>=', from)
    .orderBy('seq')
    .execute();
  if (rows.length > 0) keep(rows);
  await db.deleteFrom('events').where('session_uid', '=', uid).where('seq', '>=', from).execute();
  const listed = await db
    .selectFrom('turns')
    .select(({ fn }) => fn.max('turn').as('last'))
    .where('session_uid', '=', uid)
    .executeTakeFirst();
  // What ran belongs to a turn that is closed now.
  for (const table of ['attempts', 'staged'] as const) {
    await db.deleteFrom(table).where('session_uid', '=', uid).execute();
  }
  // Their prompts are not in the log any more: who sends them again is served.
  await db
    .deleteFrom('requests')
    .where('session_uid', '=', uid)
    .where('cursor_seq', '>=', from - 1)
    .execute();
  const turns = [listed?.last, ...rows.map(({ turn }) => turn)].map(Number).filter(Number.isSafeInteger);
  return { rows, usedTurns: Math.max(0, ...turns) };
}

/** What was to follow turns that are not in the log any more. */
async function forgetLaterTurns(db: Transaction<LogTables>, { session, state }: SessionCheck): Promise<void> {
  const last = state.openTurn?.number ?? state.lastTurn;
  await db.deleteFrom('follow_ups').where('session_uid', '=', session.uid).where('turn', '>', last).execute();
}

/** Makes the rows of lists from the log, as its appends made them. The run that has an open turn keeps it. */
async function projectAnew(db: Transaction<LogTables>, check: SessionCheck): Promise<void> {
  const { uid, tenant, id, updated_at: updatedAt } = check.session;
  const running = await rowsOfOpenTurn(db, check);
  for (const table of MADE_FROM_LOG) await db.deleteFrom(table).where('session_uid', '=', uid).execute();
  await db.updateTable('requests').set({ turn: null }).where('session_uid', '=', uid).execute();
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('session_uid', '=', uid)
    .orderBy('seq')
    .execute();
  let before: SessionState = INITIAL_STATE;
  for (const row of rows) {
    const event = eventOfRow(id, row);
    const after = evolve(before, event);
    const turn = after.openTurn;
    const opened = turn !== null && turn.number !== before.openTurn?.number ? [turn] : [];
    const change = { before: before.inbox, added: [event], opened, after };
    await projectChange(db, { uid, tenant, at: event.at }, change);
    before = after;
  }
  await putBack(db, uid, running);
  await db.updateTable('sessions').set({ updated_at: updatedAt }).where('uid', '=', uid).execute();
}

/** What is known of an open turn that is not in the log: who has it, and what its step has under way. */
interface RowsOfOpenTurn {
  readonly turn: Selectable<TurnsTable> | undefined;
  readonly attempts: readonly Selectable<AttemptsTable>[];
  readonly staged: readonly Selectable<StagedTable>[];
}

async function rowsOfOpenTurn(
  db: Transaction<LogTables>,
  { session: { uid }, state: { openTurn }, damage }: SessionCheck,
): Promise<RowsOfOpenTurn> {
  // Of a log that is cut nothing goes on.
  if (openTurn === null || damage !== null) return { turn: undefined, attempts: [], staged: [] };
  const { number, step } = openTurn;
  const inStep = (table: 'attempts' | 'staged') =>
    db
      .selectFrom(table)
      .where('session_uid', '=', uid)
      .where('turn', '=', number)
      .where('step', '=', step?.number ?? 0);
  return {
    turn: await db
      .selectFrom('turns')
      .selectAll()
      .where('session_uid', '=', uid)
      .where('turn', '=', number)
      .executeTakeFirst(),
    attempts: await inStep('attempts').selectAll('attempts').execute(),
    staged: await inStep('staged').selectAll('staged').execute(),
  };
}

/** Comes last: going through the log again ends each step anew, and what belongs to it goes with it. */
async function putBack(
  db: Transaction<LogTables>,
  uid: SessionUid,
  { turn, attempts, staged }: RowsOfOpenTurn,
): Promise<void> {
  if (turn !== undefined) {
    await db
      .updateTable('turns')
      .set({ owner_run_id: turn.owner_run_id, former_run_ids: isJsonList(turn) ? turn.former_run_ids : '[]' })
      .where('session_uid', '=', uid)
      .where('turn', '=', turn.turn)
      .execute();
  }
  for (const table of ['attempts', 'staged'] as const) {
    await db.deleteFrom(table).where('session_uid', '=', uid).execute();
  }
  for (const row of attempts) await db.insertInto('attempts').values(row).execute();
  for (const row of staged) await db.insertInto('staged').values(row).execute();
}
