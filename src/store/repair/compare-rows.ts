/**
 * The rows that lists are made from, held against what the log says they have to say.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Kysely, Selectable } from 'kysely';
import type { SessionUid } from '../../contract/ids.js';
import { sessionStatus, type SessionState } from '../../core/session-state.js';
import type { LogTables, SessionsTable, TurnsTable } from '../sql/schema.js';
import type { RowsOfLog } from './rows-of-log.js';

/** What the rows of a session whose log is whole say wrongly, each as a sentence. */
export async function disagreementsOf(
  db: Kysely<LogTables>,
  session: Selectable<SessionsTable>,
  { state, rows }: { readonly state: SessionState; readonly rows: RowsOfLog },
): Promise<string[]> {
  const found: string[] = [];
  const hold = (what: string, row: unknown, log: unknown): void => {
    if (row !== log) found.push(`${what} is ${String(row)} in the list and ${String(log)} in the log`);
  };
  hold('the last event', session.head_seq, state.headSeq);
  hold('the open turn', session.open_turn, state.openTurn?.number ?? null);
  hold('the status', session.status, sessionStatus(state));
  hold('a wish to cancel', session.cancel_requested === 1, state.openTurn?.cancel != null);
  const [turns, asks, strays] = [
    await wrongTurns(db, session.uid, rows),
    await wrongAsks(db, session.uid, rows),
    await strayRows(db, session.uid, state),
  ];
  if (turns.length > 0) found.push(`the list of turns does not say what the log says of ${turns.join(', ')}`);
  if (asks > 0) found.push(`the list of asks does not say what the log says of ${String(asks)}`);
  if (!(await hasMetadata(db, session.uid, state))) found.push('the metadata is another one than in the log');
  if (strays > 0) found.push(`there are ${String(strays)} rows of attempts whose step is over`);
  return found;
}

async function wrongTurns(db: Kysely<LogTables>, uid: SessionUid, { turns }: RowsOfLog): Promise<number[]> {
  const rows = await db
    .selectFrom('turns')
    .select(['turn', 'ended_at', 'request_ids', 'summary', 'former_run_ids'])
    .where('session_uid', '=', uid)
    .execute();
  const listed = new Map(rows.map((row) => [row.turn, row]));
  const isRight = (turn: number): boolean => {
    const [row, log] = [listed.get(turn), turns.get(turn)];
    return (
      row !== undefined &&
      log !== undefined &&
      (row.ended_at === null) === (log.end === null) &&
      isJsonList(row) &&
      isDeepStrictEqual(parsed(row.request_ids), log.requestIds) &&
      isDeepStrictEqual(row.summary === null ? null : parsed(row.summary), log.end)
    );
  };
  return [...new Set([...listed.keys(), ...turns.keys()])]
    .filter((turn) => !isRight(turn))
    .sort((a, b) => a - b);
}

async function wrongAsks(db: Kysely<LogTables>, uid: SessionUid, { asks }: RowsOfLog): Promise<number> {
  const rows = await db
    .selectFrom('approvals')
    .select(['id', 'asked_seq', 'closed_seq'])
    .where('session_uid', '=', uid)
    .execute();
  const listed = new Map<string, unknown>(
    rows.map((row) => [row.id, { askedSeq: row.asked_seq, closedSeq: row.closed_seq }]),
  );
  const all = [...new Set([...listed.keys(), ...asks.keys()])];
  return all.filter((id) => !isDeepStrictEqual(listed.get(id), asks.get(id))).length;
}

async function hasMetadata(db: Kysely<LogTables>, uid: SessionUid, state: SessionState): Promise<boolean> {
  const rows = await db
    .selectFrom('session_metadata')
    .select(['key', 'value'])
    .where('session_uid', '=', uid)
    .execute();
  const listed = Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  return isDeepStrictEqual(listed, { ...state.settings?.metadata });
}

/** Rows that end with their step, of another step than the open one. */
async function strayRows(
  db: Kysely<LogTables>,
  uid: SessionUid,
  { openTurn }: SessionState,
): Promise<number> {
  let count = 0;
  for (const table of ['attempts', 'staged'] as const) {
    const rows = await db.selectFrom(table).select(['turn', 'step']).where('session_uid', '=', uid).execute();
    count += rows.filter(
      ({ turn, step }) => turn !== openTurn?.number || step !== openTurn.step?.number,
    ).length;
  }
  return count;
}

/** The value of a JSON text; undefined where it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It says nothing, and so not what the log says.
    return undefined;
  }
}

/** Whether the runs that had the turn before can be told from its row. */
export function isJsonList({ former_run_ids: text }: Pick<TurnsTable, 'former_run_ids'>): boolean {
  return Array.isArray(parsed(text));
}
