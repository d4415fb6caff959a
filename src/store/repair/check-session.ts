/**
 * One session's log held against itself: how far it is whole, and whether the rows that lists are made from say the same.
 *
 * Owns the judgement. It changes nothing; what is done about it is in `repair-session.ts`.
 */
import type { Kysely, Selectable } from 'kysely';
import { EVENT_SCHEMAS, isEventType, type SessionEvent } from '../../contract/events.js';
import { sessionIdSchema, sessionUidSchema, type SessionUid } from '../../contract/ids.js';
import { evolve, INITIAL_STATE, sessionStatus, type SessionState } from '../../core/session-state.js';
import { blobsOfEvent } from '../archive/blobs-of-event.js';
import { StoreError } from '../session-store.js';
import { eventOfRow } from '../sql/rows.js';
import type { EventsTable, LogTables, SessionsTable } from '../sql/schema.js';

const PAGE = 500;

/** Where a log stops being whole, and why. */
export interface LogDamage {
  /** The first seq that is not as it should be. */
  readonly seq: number;
  readonly reason: string;
  /** The log is whole, and another version wrote it: nothing is to be cut. */
  readonly isUnsupported: boolean;
}

export interface SessionCheck {
  readonly session: Selectable<SessionsTable>;
  /** The state up to the damage, or of the whole log. */
  readonly state: SessionState;
  readonly damage: LogDamage | null;
  /** Rows that do not say what the log says, each as a sentence. */
  readonly disagreements: readonly string[];
  /** Digests of blobs that the log needs and the database does not have. */
  readonly missingBlobs: readonly string[];
}

/** Checks one session. Throws only where the database itself fails. */
export async function checkSession(
  db: Kysely<LogTables>,
  session: Selectable<SessionsTable>,
): Promise<SessionCheck> {
  const isNamed =
    sessionUidSchema.safeParse(session.uid).success && sessionIdSchema.safeParse(session.id).success;
  if (!isNamed) {
    const damage = { seq: 0, reason: 'the row of the session is damaged', isUnsupported: false };
    return { session, state: INITIAL_STATE, damage, disagreements: [], missingBlobs: [] };
  }
  const needed = new Set<string>();
  let state = INITIAL_STATE;
  let damage: LogDamage | null = null;
  for await (const row of rowsOf(db, session.uid)) {
    const seq = state.headSeq + 1;
    const event = row.seq === seq ? readEvent(session, row) : gap(seq, row.seq);
    if ('reason' in event) {
      damage = event;
      break;
    }
    try {
      state = evolve(state, event);
      for (const sha256 of blobsOfEvent(event)) needed.add(sha256);
    } catch {
      damage = {
        seq,
        reason: `event ${String(seq)} does not fit its type ${event.type}`,
        isUnsupported: false,
      };
      break;
    }
  }
  if (damage === null && state.headSeq < session.head_seq) {
    damage = gap(state.headSeq + 1, session.head_seq + 1);
  }
  const disagreements = damage === null ? await disagreementsOf(db, session, state) : [];
  return { session, state, damage, disagreements, missingBlobs: await missingOf(db, session.uid, needed) };
}

/** The rows of a log in their order, page by page. */
async function* rowsOf(
  db: Kysely<LogTables>,
  uid: SessionUid,
): AsyncGenerator<Selectable<EventsTable>, void, void> {
  for (let after = -1; ;) {
    const rows = await db
      .selectFrom('events')
      .selectAll()
      .where('session_uid', '=', uid)
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(PAGE)
      .execute();
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

function readEvent(
  session: Selectable<SessionsTable>,
  row: Selectable<EventsTable>,
): SessionEvent | LogDamage {
  const { seq } = row;
  try {
    const event = eventOfRow(session.id, row);
    // One that says that it may be ignored is of another version, and is left as it is.
    if (!isEventType(event.type)) return event;
    const parsed = EVENT_SCHEMAS[event.type].safeParse(event.data);
    if (parsed.success) return event;
    const path = parsed.error.issues[0]?.path.join('.') ?? '';
    const reason = `event ${String(seq)} is no valid ${event.type}${path === '' ? '' : ` (${path})`}`;
    return { seq, reason, isUnsupported: false };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { seq, reason: error.message, isUnsupported: error.code === 'LOG_UNSUPPORTED' };
  }
}

function gap(seq: number, next: number): LogDamage {
  const last = next - 1;
  const which = last > seq ? `events ${String(seq)} to ${String(last)} are` : `event ${String(seq)} is`;
  return { seq, reason: `${which} missing`, isUnsupported: false };
}

async function disagreementsOf(
  db: Kysely<LogTables>,
  session: Selectable<SessionsTable>,
  state: SessionState,
): Promise<string[]> {
  const found: string[] = [];
  const hold = (what: string, row: unknown, log: unknown): void => {
    if (row !== log) found.push(`${what} is ${String(row)} in the list and ${String(log)} in the log`);
  };
  hold('the last event', session.head_seq, state.headSeq);
  hold('the open turn', session.open_turn, state.openTurn?.number ?? null);
  hold('the status', session.status, sessionStatus(state));
  hold('a wish to cancel', session.cancel_requested === 1, state.openTurn?.cancel != null);
  const turns = await db
    .selectFrom('turns')
    .select(['turn', 'ended_at'])
    .where('session_uid', '=', session.uid)
    .execute();
  const ended = turns.filter(({ ended_at: at }) => at !== null).length;
  hold('the number of ended turns', ended, state.lastTurn);
  hold('the number of open turns', turns.length - ended, state.openTurn === null ? 0 : 1);
  const asks = await db
    .selectFrom('approvals')
    .select('id')
    .where('session_uid', '=', session.uid)
    .where('closed_seq', 'is', null)
    .execute();
  hold('the number of open asks', asks.length, state.approvals.length + state.questions.length);
  return found;
}

async function missingOf(
  db: Kysely<LogTables>,
  uid: SessionUid,
  needed: ReadonlySet<string>,
): Promise<string[]> {
  if (needed.size === 0) return [];
  const rows = await db.selectFrom('blobs').select('sha256').where('session_uid', '=', uid).execute();
  const there = new Set<string>(rows.map(({ sha256 }) => sha256));
  return [...needed].filter((sha256) => !there.has(sha256));
}
