/** Pages of a session's events, forwards and backwards. Owns that a page of all of them leaves none out. */
import type { Kysely } from 'kysely';
import type { SessionEvent } from '../../contract/events.js';
import { StoreError, type EventPageQuery, type SessionRecord } from '../session-store.js';
import { eventOfRow } from './rows.js';
import type { LogTables } from './schema.js';

/** @throws `StoreError` `LOG_CORRUPT` where an event is missing or is not as it was stored. */
export async function readEventPage(
  db: Kysely<LogTables>,
  session: SessionRecord,
  query: EventPageQuery,
): Promise<readonly SessionEvent[]> {
  const backwards = query.before !== undefined;
  let select = db.selectFrom('events').selectAll().where('session_uid', '=', session.uid);
  if (query.after !== undefined) select = select.where('seq', '>', query.after);
  if (query.before !== undefined) select = select.where('seq', '<', query.before);
  if (query.types !== undefined) select = select.where('type', 'in', query.types);
  if (query.turn !== undefined) select = select.where('turn', '=', query.turn);
  const rows = await select
    .orderBy('seq', backwards ? 'desc' : 'asc')
    .limit(query.limit)
    .execute();
  if (backwards) rows.reverse();
  if (query.types === undefined && query.turn === undefined) requireNoGap(session, query, rows);
  return rows.map((row) => eventOfRow(session.id, row));
}

/** A page of all events between two seqs has every one of them, or as many as it may. */
function requireNoGap(
  session: SessionRecord,
  { after = -1, before, limit }: EventPageQuery,
  rows: readonly { readonly seq: number }[],
): void {
  // More than were there when the session was read are welcome.
  const known = Math.min(before ?? Infinity, session.headSeq + 1) - 1;
  const last = before === undefined ? known : Math.max(known, rows.at(-1)?.seq ?? -1);
  const first = before === undefined ? Math.max(after, -1) + 1 : Math.max(0, last - limit + 1);
  const wanted = Math.max(0, Math.min(limit, last - first + 1));
  const gap = Array.from({ length: wanted }, (_, n) => first + n).find((seq, n) => rows[n]?.seq !== seq);
  if (gap === undefined) return;
  throw new StoreError(
    'LOG_CORRUPT',
    `Event ${String(gap)} of session ${session.id} is missing: the log is damaged there.`,
  );
}
