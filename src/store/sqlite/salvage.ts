/**
 * What can be had of a SQLite file whose pages are damaged.
 *
 * Owns that the damaged file is kept: it is moved aside, never written. What its rows mean is judged afterwards, by who
 * checks the sessions.
 */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';

const COMPANIONS = ['', '-wal', '-shm'];
/** Enough to tell a person; a damaged file may have thousands. */
const MAX_COMPLAINTS = 20;

/** What SQLite complains of in the file; nothing where it is whole. Throws nothing. */
export function complaintsOf(file: string): readonly string[] {
  try {
    const database = new Database(file, { readonly: true, fileMustExist: true });
    try {
      const rows = database.pragma(`integrity_check(${String(MAX_COMPLAINTS)})`) as Record<string, string>[];
      const complaints = rows.flatMap((row) => Object.values(row));
      return complaints.length === 1 && complaints[0] === 'ok' ? [] : complaints;
    } finally {
      database.close();
    }
  } catch (error) {
    return [messageOf(error)];
  }
}

export interface Salvage {
  /** Where the damaged file is now. */
  readonly aside: string;
  /** How the file was mended: its indexes were made anew, or its rows were copied. */
  readonly by: 'reindex' | 'copy';
  /** Rows that were copied, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Tables that could not be read to their end. */
  readonly incomplete: readonly string[];
}

export interface SalvageOptions {
  /** Makes a file of that name with all tables and nothing in them. */
  readonly createEmpty: (file: string) => Promise<void>;
  /** Names the file that is moved aside. */
  readonly at: string;
  /** Whether it is all the same where no row can be had. */
  readonly mayBeEmpty: boolean;
}

/** Nothing can be had of the file. */
export class SalvageError extends Error {
  override readonly name = 'SalvageError';
}

/**
 * Puts a whole file in the place of a damaged one, with all rows that can be read. Nobody has the file open.
 *
 * @throws SalvageError, with everything as it was.
 */
export async function salvage(
  file: string,
  { createEmpty, at, mayBeEmpty }: SalvageOptions,
): Promise<Salvage> {
  const aside = `${file}.damaged-${at.replaceAll(':', '-')}`;
  if (reindexed(file, aside)) return { aside, by: 'reindex', rows: {}, incomplete: [] };
  const fresh = `${file}.salvaged`;
  removeFile(fresh);
  try {
    await createEmpty(fresh);
    const copied = copyRows(file, fresh);
    const count = Object.values(copied.rows).reduce((sum, rows) => sum + rows, 0);
    if (count === 0 && !mayBeEmpty) throw new SalvageError('Not one row can be read of it.');
    moveFile(file, aside);
    moveFile(fresh, file);
    return { aside, by: 'copy', ...copied };
  } catch (error) {
    removeFile(fresh);
    throw error instanceof SalvageError ? error : new SalvageError(messageOf(error), { cause: error });
  }
}

/** Indexes hold nothing of their own: where only they are damaged they are made anew, over a copy of the file. */
function reindexed(file: string, aside: string): boolean {
  for (const companion of COMPANIONS) {
    if (existsSync(file + companion)) copyFileSync(file + companion, aside + companion);
  }
  try {
    const database = new Database(file);
    try {
      database.exec('reindex');
    } finally {
      database.close();
    }
    if (complaintsOf(file).length === 0) return true;
  } catch {
    // More than indexes is damaged.
  }
  removeFile(file);
  moveFile(aside, file);
  return false;
}

function copyRows(from: string, to: string): Pick<Salvage, 'rows' | 'incomplete'> {
  const source = new Database(from, { readonly: true, fileMustExist: true });
  const target = new Database(to);
  try {
    const tables = target
      .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
      .pluck()
      .all() as string[];
    const rows: Record<string, number> = {};
    const incomplete: string[] = [];
    for (const table of tables) {
      const { count, isWhole } = copyTable(source, target, table);
      rows[table] = count;
      if (!isWhole) incomplete.push(table);
    }
    return { rows, incomplete };
  } finally {
    source.close();
    target.close();
  }
}

/** From both ends: what is damaged in the middle hides nothing behind it. */
function copyTable(
  source: Database.Database,
  target: Database.Database,
  table: string,
): { count: number; isWhole: boolean } {
  const columns = (target.pragma(`table_info("${table}")`) as { name: string }[]).map(
    ({ name }) => `"${name}"`,
  );
  const insert = target.prepare(
    `insert or ignore into "${table}" (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
  );
  let count = 0;
  for (const direction of ['asc', 'desc']) {
    target.exec('begin');
    let isWhole = true;
    try {
      const select = source.prepare(
        `select ${columns.join(', ')} from "${table}" not indexed order by rowid ${direction}`,
      );
      for (const row of select.raw().iterate() as IterableIterator<unknown[]>) {
        try {
          count += insert.run(...row).changes;
        } catch {
          // A row that no table of this schema takes holds nothing that can be used.
          isWhole = false;
        }
      }
    } catch {
      // The pages from here on cannot be read this way round.
      isWhole = false;
    }
    target.exec('commit');
    if (isWhole) return { count, isWhole };
  }
  return { count, isWhole: false };
}

function moveFile(from: string, to: string): void {
  for (const companion of COMPANIONS) {
    if (existsSync(from + companion)) renameSync(from + companion, to + companion);
  }
}

function removeFile(file: string): void {
  for (const companion of COMPANIONS) rmSync(file + companion, { force: true });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
