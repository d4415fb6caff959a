/**
 * What belongs to no session: logs whose session's row is lost, rows of sessions that are not there, and frames that
 * nobody can read or that have no owner.
 *
 * Owns that what a deletion or an import has noted as left over is not taken for a session that was lost.
 */
import { sql, type Kysely, type Selectable } from 'kysely';
import { chunkSchema } from '../../contract/chunks.js';
import { sessionUidSchema, type SessionId, type SessionUid } from '../../contract/ids.js';
import type { SessionStore } from '../session-store.js';
import type { EventsTable, FrameTables, LogTables } from '../sql/schema.js';
import { noteLeftovers, TABLES_OF_SESSIONS } from '../sql/sql-retention.js';

/** The tenant of who has no key. */
const DEFAULT_TENANT = 'default';

/**
 * Gives logs whose session's row is lost one again, with the log's uid as its id; how they stand is seen by their
 * checks. Returns those ids.
 */
export async function restoreSessions(log: Kysely<LogTables>): Promise<SessionId[]> {
  const rows = await log
    .selectFrom('events')
    .leftJoin('sessions', 'sessions.uid', 'events.session_uid')
    .leftJoin('leftovers', 'leftovers.session_uid', 'events.session_uid')
    .leftJoin('turns', 'turns.session_uid', 'events.session_uid')
    .select(({ fn }) => [
      'events.session_uid as uid',
      'events.at as created_at',
      fn.max('turns.tenant').as('tenant'),
    ])
    .where('events.seq', '=', 0)
    .where('sessions.uid', 'is', null)
    .where('leftovers.session_uid', 'is', null)
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
        // No body of a request: who creates a session of this id has another one.
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

/** Takes out the rows of sessions that are not there. Returns how many sessions had some. */
export async function clearStrayRows(
  log: Kysely<LogTables>,
  store: SessionStore,
  { at, keep }: { readonly at: string; readonly keep: (rows: readonly Selectable<EventsTable>[]) => void },
): Promise<number> {
  // SQLite takes a primary key that is no text, or none at all.
  await sql`delete from sessions where typeof(uid) <> 'text'`.execute(log);
  const uids = new Set<SessionUid>();
  for (const table of TABLES_OF_SESSIONS) {
    const rows = await log
      .selectFrom(table)
      .leftJoin('sessions', 'sessions.uid', `${table}.session_uid`)
      .leftJoin('leftovers', 'leftovers.session_uid', `${table}.session_uid`)
      .select(`${table}.session_uid as uid`)
      .distinct()
      .where('sessions.uid', 'is', null)
      .where('leftovers.session_uid', 'is', null)
      .execute();
    for (const { uid } of rows) uids.add(uid);
  }
  for (const uid of uids) {
    const events = await log
      .selectFrom('events')
      .selectAll()
      .where('session_uid', '=', uid)
      .orderBy('seq')
      .execute();
    if (events.length > 0) keep(events);
    await noteLeftovers(log, uid, at);
    await store.retention.clearLeftovers(uid);
  }
  return uids.size;
}

/** Takes out frames that cannot be read, and those whose turn is over. Returns how many could not be read. */
export async function clearStrayFrames(frames: Kysely<FrameTables>, store: SessionStore): Promise<number> {
  const rows = await frames.selectFrom('frames').select(['session_uid', 'frame', 'chunks']).execute();
  const unreadable = rows.filter(({ chunks }) => !isReadable(chunks));
  for (const row of unreadable) {
    await frames
      .deleteFrom('frames')
      .where('session_uid', '=', row.session_uid)
      .where('frame', '=', row.frame)
      .execute();
  }
  await store.retention.dropStrayFrames();
  return unreadable.length;
}

/** Whether the text of a frame holds chunks. */
export function isReadable(chunks: string): boolean {
  try {
    return chunkSchema.array().safeParse(JSON.parse(chunks)).success;
  } catch {
    // No JSON at all.
    return false;
  }
}
