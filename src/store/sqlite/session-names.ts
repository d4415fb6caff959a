/**
 * The names of sessions whose rows are lost, from the indexes: those stand on pages of their own, and hold the uid, the
 * tenant and the id of every session.
 */
import type Database from 'better-sqlite3';

/** The indexes that SQLite makes for the primary key, and for the uniqueness of an id in its tenant. */
const BY_UID = 'sqlite_autoindex_sessions_1';
const BY_ID = 'sqlite_autoindex_sessions_2';

/** Gives sessions that the target lacks a row with their names; how they stand is told by their logs. */
export function restoreNames(source: Database.Database, target: Database.Database): void {
  const names = new Map(
    entriesOf(source, { index: BY_ID, columns: 'tenant, id' }).map(([rowId, tenant, id]) => [
      rowId,
      { tenant, id },
    ]),
  );
  const insert = target.prepare(
    `insert or ignore into sessions
       (uid, tenant, id, body_sha256, created_at, updated_at, open_turn, status, head_seq)
     select @uid, @tenant, @id, 'restored', at, at, null, 'idle', -1 from events where session_uid = @uid and seq = 0`,
  );
  for (const [rowId, uid] of entriesOf(source, { index: BY_UID, columns: 'uid' })) {
    const name = names.get(rowId);
    if (name !== undefined) insert.run({ uid, ...name });
  }
}

/** The row ids and columns of an index, from both of its ends up to what cannot be read. */
function entriesOf(
  source: Database.Database,
  { index, columns }: { readonly index: string; readonly columns: string },
): unknown[][] {
  const entries: unknown[][] = [];
  for (const direction of ['asc', 'desc']) {
    const order = columns.split(', ').map((column) => `${column} ${direction}`);
    try {
      const select = source.prepare(
        `select rowid, ${columns} from sessions indexed by ${index} order by ${order.join(', ')}`,
      );
      for (const entry of select.raw().iterate() as Iterable<unknown[]>) entries.push(entry);
      return entries;
    } catch {
      // The other end may be on another page.
    }
  }
  return entries;
}
