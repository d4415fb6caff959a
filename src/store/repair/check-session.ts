/**
 * One session's log held against itself: how far it is whole, and whether the rows that lists are made from say the same.
 *
 * Owns the judgement. It changes nothing; what is done about it is in `repair-session.ts`.
 */
import type { Kysely, Selectable } from 'kysely';
import { EVENT_SCHEMAS, isEventType, type SessionEvent } from '../../contract/events.js';
import { sessionIdSchema, sessionUidSchema, type SessionUid, type Sha256 } from '../../contract/ids.js';
import { evolve, INITIAL_STATE, type SessionState } from '../../core/session-state.js';
import { blobsOfEvent } from '../archive/blobs-of-event.js';
import { digestOf } from '../digest.js';
import { StoreError } from '../session-store.js';
import { eventOfRow } from '../sql/rows.js';
import type { EventsTable, LogTables, SessionsTable } from '../sql/schema.js';
import { disagreementsOf } from './compare-rows.js';
import { RowsOfLog } from './rows-of-log.js';

const PAGE = 500;

/** Where a log stops being whole, and why. */
export interface LogDamage {
  /** The first seq that is not as it should be. */
  readonly seq: number;
  readonly reason: string;
  /** The log is whole, and another version wrote it: nothing is to be cut. */
  readonly isUnsupported: boolean;
}

/** How far a log can be read. */
export interface ReadLog {
  /** The state up to the damage, or of the whole log. */
  readonly state: SessionState;
  readonly damage: LogDamage | null;
}

export interface SessionCheck extends ReadLog {
  readonly session: Selectable<SessionsTable>;
  /** Rows that do not say what the log says, each as a sentence. */
  readonly disagreements: readonly string[];
  /** Digests of blobs that are not what they were. */
  readonly damagedBlobs: readonly Sha256[];
  /** Digests of blobs that the log names and that are not there, or damaged; without them it goes on. */
  readonly missingBlobs: readonly Sha256[];
}

/** Checks one session, at one moment of the log; undefined where it is gone. Throws only where the database itself fails. */
export async function checkSession(
  log: Kysely<LogTables>,
  uid: SessionUid,
): Promise<SessionCheck | undefined> {
  return log.transaction().execute(async (db) => {
    const session = await db.selectFrom('sessions').selectAll().where('uid', '=', uid).executeTakeFirst();
    if (session === undefined) return undefined;
    const blobs = await blobsOf(db, uid);
    const missing = new Set<Sha256>();
    const rows = new RowsOfLog();
    const { state, damage } = await readLog(db, session, (event, after) => {
      rows.add(event, after);
      const lost = blobsOfEvent(event).filter((sha256) => !blobs.whole.has(sha256));
      if (lost.length > 0 && isConversation(event))
        return `a large content of event ${String(event.seq)} is lost`;
      for (const sha256 of lost) missing.add(sha256);
      return undefined;
    });
    return {
      session,
      state,
      damage,
      disagreements: damage === null ? await disagreementsOf(db, session, { state, rows }) : [],
      damagedBlobs: blobs.damaged,
      missingBlobs: [...missing],
    };
  });
}

/**
 * Reads a log as far as it is whole.
 *
 * @param complain is asked about each event with the state after it, and says why it is damage nevertheless.
 */
export async function readLog(
  db: Kysely<LogTables>,
  session: Selectable<SessionsTable>,
  complain: (event: SessionEvent, after: SessionState) => string | undefined = () => undefined,
): Promise<ReadLog> {
  if (!isNamed(session))
    return { state: INITIAL_STATE, damage: damageAt(0, 'the row of the session is damaged') };
  let state = INITIAL_STATE;
  for await (const row of rowsOf(db, session.uid)) {
    const seq = state.headSeq + 1;
    const event = row.seq === seq ? readEvent(session, row) : gap(seq, row.seq);
    if ('reason' in event) return { state, damage: event };
    let after: SessionState;
    try {
      after = evolve(state, event);
    } catch {
      return { state, damage: damageAt(seq, `event ${String(seq)} does not fit its type ${event.type}`) };
    }
    const complaint =
      seq === 0 && event.type !== 'session/created'
        ? 'the log does not begin with the creation of its session'
        : complain(event, after);
    if (complaint !== undefined) return { state, damage: damageAt(seq, complaint) };
    state = after;
  }
  const isShort = state.headSeq < session.head_seq || state.headSeq === -1;
  return { state, damage: isShort ? gap(state.headSeq + 1, Math.max(session.head_seq, 0) + 1) : null };
}

function isNamed({ uid, id }: Selectable<SessionsTable>): boolean {
  return sessionUidSchema.safeParse(uid).success && sessionIdSchema.safeParse(id).success;
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
    return damageAt(seq, `event ${String(seq)} is no valid ${event.type}${path === '' ? '' : ` (${path})`}`);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const reason = error.message.replace(/\.$/, '');
    return { seq, reason, isUnsupported: error.code === 'LOG_UNSUPPORTED' };
  }
}

function damageAt(seq: number, reason: string): LogDamage {
  return { seq, reason, isUnsupported: false };
}

function gap(seq: number, next: number): LogDamage {
  const last = next - 1;
  const which = last > seq ? `events ${String(seq)} to ${String(last)} are` : `event ${String(seq)} is`;
  return damageAt(seq, `${which} missing`);
}

/** Whether the model is shown what the event says: without it no request can be made any more. */
function isConversation({ type }: SessionEvent): boolean {
  return (
    type === 'user/message' ||
    type === 'assistant/message' ||
    type === 'tool/result' ||
    type === 'agent/inbox/spliced'
  );
}

interface StoredBlobs {
  readonly whole: ReadonlySet<Sha256>;
  readonly damaged: readonly Sha256[];
}

async function blobsOf(db: Kysely<LogTables>, uid: SessionUid): Promise<StoredBlobs> {
  const names = await db.selectFrom('blobs').select('sha256').where('session_uid', '=', uid).execute();
  const whole = new Set<Sha256>();
  const damaged: Sha256[] = [];
  // One at a time: together they may be larger than the memory.
  for (const { sha256 } of names) {
    const row = await db
      .selectFrom('blobs')
      .select('bytes')
      .where('session_uid', '=', uid)
      .where('sha256', '=', sha256)
      .executeTakeFirst();
    if (row !== undefined && digestOf(row.bytes) === sha256) whole.add(sha256);
    else damaged.push(sha256);
  }
  return { whole, damaged };
}
