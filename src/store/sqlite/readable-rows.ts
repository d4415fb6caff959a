/**
 * All rows of a damaged table that can be read.
 *
 * Owns the way around damage: the table is read from both ends, and what lies between is tried in ranges of row ids that
 * are halved, down to the rows that are lost.
 */
import type Database from 'better-sqlite3';

const LAST_ROW_ID = 2n ** 62n;
/** A row takes more bytes than that, with what the page says of it. */
const MIN_ROW_BYTES = 16;
/** Ranges that cannot be read, beyond the number of rows that could: of a table whose root is damaged none can. */
const MAX_FAILURES = 2000;

/** The columns of a table, in their order; none where there is no such table. */
export function columnsOf(database: Database.Database, table: string): string[] {
  return (database.pragma(`table_info("${table}")`) as { name: string }[]).map(({ name }) => name);
}

/** Calls `take` with each row, its values in the order of `columns`. Returns whether all could be read. */
export function readRows(
  database: Database.Database,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  take: (row: readonly unknown[]) => void,
): boolean {
  const names = columns.map((name) => `"${name}"`).join(', ');
  const select = (direction: 'asc' | 'desc') =>
    database
      .prepare<[bigint, bigint]>(
        `select rowid, ${names} from "${table}" not indexed where rowid between ? and ? order by rowid ${direction}`,
      )
      .raw()
      .safeIntegers();
  const [upwards, downwards] = [select('asc'), select('desc')];
  let taken = 0;
  /** Reads as far as it goes. The last row id that could be read; none where there was none. */
  const read = (statement: typeof upwards, from: bigint, to: bigint) => {
    let last: bigint | undefined;
    try {
      for (const [rowId, ...row] of statement.iterate(from, to) as Iterable<[bigint, ...unknown[]]>) {
        // What is left of a page may have any row id: such rows would be read again and again.
        const isNext = last === undefined || (statement === upwards ? rowId > last : rowId < last);
        if (!isNext || rowId < from || rowId > to) return { last, isWhole: false };
        take(row);
        taken += 1;
        last = rowId;
      }
      return { last, isWhole: true };
    } catch {
      // The next row, or the page that it is on, cannot be read.
      return { last, isWhole: false };
    }
  };

  const { last = 0n, isWhole } = read(upwards, 1n, LAST_ROW_ID);
  if (isWhole) return true;
  const { last: first } = read(downwards, last + 1n, LAST_ROW_ID);
  // Where the end is damaged too nothing tells the last row id but how many rows there may be.
  const end = first === undefined ? last + mostRows(database) : first - 1n;
  // The larger ranges first, so that what is given up is small.
  const ranges: (readonly [bigint, bigint])[] = [[last + 1n, end]];
  let failures = 0;
  for (const [from, to] of ranges) {
    const range = read(upwards, from, to);
    if (range.isWhole) continue;
    failures += 1;
    if (failures > MAX_FAILURES + taken) break;
    const next = range.last === undefined ? from : range.last + 1n;
    if (next >= to) continue;
    const middle = next + (to - next) / 2n;
    ranges.push([next, middle], [middle + 1n, to]);
  }
  return false;
}

function mostRows(database: Database.Database): bigint {
  const bytes =
    Number(database.pragma('page_count', { simple: true })) *
    Number(database.pragma('page_size', { simple: true }));
  return BigInt(Math.ceil(bytes / MIN_ROW_BYTES));
}
