/**
 * All rows of a damaged table that can be read.
 *
 * Owns the way around damage: a range of row ids that cannot be read to its end goes on, in halves, behind the last row
 * that could, down to the one row that is lost.
 */
import type Database from 'better-sqlite3';

/** SQLite gives no larger ones before these are used up. */
const LAST_ROW_ID = 2n ** 62n;

/** The columns of a table, in their order; none where there is no such table. */
export function columnsOf(database: Database.Database, table: string): string[] {
  return (database.pragma(`table_info("${table}")`) as { name: string }[]).map(({ name }) => name);
}

/** Calls `take` with each row, in the order of `columns`. Returns whether all could be read. */
export function readRows(
  database: Database.Database,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  take: (row: readonly unknown[]) => void,
): boolean {
  const names = columns.map((name) => `"${name}"`).join(', ');
  const select = database
    .prepare<[bigint, bigint]>(
      `select rowid, ${names} from "${table}" not indexed where rowid between ? and ? order by rowid`,
    )
    .raw()
    .safeIntegers();
  let isWhole = true;
  const ranges: (readonly [bigint, bigint])[] = [[-LAST_ROW_ID, LAST_ROW_ID]];
  for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
    const [from, to] = range;
    let next = from;
    try {
      for (const [rowId, ...row] of select.iterate(from, to) as Iterable<[bigint, ...unknown[]]>) {
        take(row);
        next = rowId + 1n;
      }
    } catch {
      // The next row, or the page that it is on, cannot be read.
      isWhole = false;
      if (next < to) {
        const middle = next + (to - next) / 2n;
        ranges.push([middle + 1n, to], [next, middle]);
      }
    }
  }
  return isWhole;
}
