/**
 * What can be had of a SQLite file whose pages are damaged.
 *
 * Owns that the damaged file is kept: it is never written, and what is whole takes its place in one step. What its rows
 * mean is judged afterwards, by who checks the sessions.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { StoreError } from '../session-store.js';
import { keepClosed } from './lost-keys.js';
import { columnsOf, readRows } from './readable-rows.js';
import { restoreNames } from './session-names.js';

/** What SQLite keeps beside a file that is open, or was when its process died. */
const COMPANIONS = ['-wal', '-shm'];
/** Enough to tell a person; a damaged file may have thousands. */
const MAX_COMPLAINTS = 20;
/** The tables that say which migrations a file has had. */
const MIGRATIONS = /_migration$/;
const BOOKKEEPING = /_migration(_lock)?$/;

/** What SQLite complains of in the file; nothing where it is whole. Throws nothing. */
export function complaintsOf(file: string): readonly string[] {
  try {
    const database = new Database(file, { readonly: true, fileMustExist: true });
    try {
      const rows = database.pragma(`integrity_check(${String(MAX_COMPLAINTS)})`) as Record<string, string>[];
      const complaints = rows.flatMap((row) => Object.values(row));
      if (complaints.length !== 1 || complaints[0] !== 'ok') return complaints;
      readAll(database);
      return [];
    } finally {
      database.close();
    }
  } catch (error) {
    return [messageOf(error)];
  }
}

/** SQLite checks how pages hang together, and not that each of them can be read. @throws where one cannot. */
function readAll(database: Database.Database): void {
  for (const table of tablesOf(database)) {
    const rows = database.prepare(`select * from "${table}" not indexed`).raw().iterate();
    while (rows.next().done !== true) continue;
  }
}

export interface Salvage {
  /** Where the damaged file is now. */
  readonly aside: string;
  /** How the file was mended: its indexes were made anew, or its rows were copied. */
  readonly by: 'reindex' | 'copy';
  /** Rows that were copied, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Tables of which rows are lost. */
  readonly incomplete: readonly string[];
}

export interface SalvageOptions {
  /**
   * Brings a file of that name to this version's tables, and makes it where there is none.
   *
   * @throws `StoreError` `SCHEMA_TOO_NEW`.
   */
  readonly makeCurrent: (file: string) => Promise<void>;
  /** When it is done, ISO 8601; names the copy of the damaged file that is kept. */
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
 * @throws SalvageError, and `StoreError` `SCHEMA_TOO_NEW` where a later version made the file; with everything as it was.
 */
export async function salvage(
  file: string,
  { makeCurrent, at, mayBeEmpty }: SalvageOptions,
): Promise<Salvage> {
  const aside = `${file}.damaged-${at.replaceAll(':', '-')}`;
  const folder = mkdtempSync(join(dirname(file), '.salvage-'));
  try {
    const fresh = inFolder(folder, 'fresh', file);
    await makeCurrent(fresh);
    const copy = inFolder(folder, 'reindexed', file);
    if (reindexed(file, { copy, fresh })) {
      replace(file, { by: copy, aside });
      return { aside, by: 'reindex', rows: {}, incomplete: [] };
    }
    const old = inFolder(folder, 'as-it-was', file);
    const { made, ...copied } = await copyOf(file, { fresh, old, makeCurrent, at });
    const count = Object.values(copied.rows).reduce((sum, rows) => sum + rows, 0);
    if (count === 0 && !mayBeEmpty) throw new SalvageError('Not one row can be read of it.');
    replace(file, { by: made, aside });
    return { aside, by: 'copy', ...copied };
  } catch (error) {
    if (error instanceof SalvageError || error instanceof StoreError) throw error;
    throw new SalvageError(messageOf(error), { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Indexes hold nothing of their own: where only they are damaged, a copy of the file in which they are new is whole. */
function reindexed(
  file: string,
  { copy, fresh }: { readonly copy: string; readonly fresh: string },
): boolean {
  try {
    for (const companion of ['', ...COMPANIONS]) {
      if (existsSync(file + companion)) copyFileSync(file + companion, copy + companion);
    }
    const database = new Database(copy);
    try {
      database.exec('reindex');
    } finally {
      database.close();
    }
    return complaintsOf(copy).length === 0 && knowsItself(copy, fresh);
  } catch {
    // More than indexes is damaged.
    return false;
  }
}

/** In this order, so that there is a file of the name at every moment, and never one beside the WAL of another. */
function replace(file: string, { by, aside }: { readonly by: string; readonly aside: string }): void {
  copyFileSync(file, aside);
  for (const companion of COMPANIONS) {
    if (existsSync(file + companion)) renameSync(file + companion, aside + companion);
  }
  renameSync(by, file);
}

/**
 * Whether the file is what it says of itself: it has had the first migrations of this version, or more; and where it had
 * just these, its tables are the same.
 */
function knowsItself(file: string, fresh: string): boolean {
  const counts = withFiles(file, fresh, (source, target) =>
    tablesOf(target)
      .filter((table) => MIGRATIONS.test(table))
      .map((table) => {
        const names = (database: Database.Database) =>
          database.prepare(`select name from "${table}" order by name`).pluck().all();
        const [its, ours] = [names(source), names(target)];
        const isKnown = its.every((name, n) => n >= ours.length || name === ours[n]);
        return isKnown ? its.length - ours.length : undefined;
      }),
  );
  return counts.every((more) => more !== undefined && (more !== 0 || hasSameTables(file, fresh)));
}

type Copied = Pick<Salvage, 'rows' | 'incomplete'>;

/** A file of an older version is copied as it is and brought to this one afterwards; its rows may mean something else. */
async function copyOf(
  file: string,
  {
    fresh,
    old,
    makeCurrent,
    at,
  }: { readonly fresh: string; readonly old: string } & Pick<SalvageOptions, 'makeCurrent' | 'at'>,
): Promise<Copied & { readonly made: string }> {
  if (!hasSameTables(file, fresh)) {
    try {
      await makeCurrent(old);
      copyTables(file, old);
      const copied = copyRows(file, old, { withBookkeeping: true, at });
      await makeCurrent(old);
      if (knowsItself(old, fresh)) return { made: old, ...copied };
    } catch (error) {
      if (error instanceof StoreError && error.code === 'SCHEMA_TOO_NEW') throw error;
      // Not even what its tables were can be told: the columns that this version has are all that can be looked for.
    }
  }
  return { made: fresh, ...copyRows(file, fresh, { withBookkeeping: false, at }) };
}

function inFolder(folder: string, name: string, file: string): string {
  mkdirSync(join(folder, name));
  return join(folder, name, basename(file));
}

function hasSameTables(file: string, fresh: string): boolean {
  try {
    return withFiles(file, fresh, (source, target) =>
      tablesOf(target).every((table) => columnsOf(source, table).join() === columnsOf(target, table).join()),
    );
  } catch {
    // The description of the tables is damaged.
    return false;
  }
}

/** Makes the tables and indexes of one file those of another one. */
function copyTables(from: string, to: string): void {
  withFiles(from, to, (source, target) => {
    for (const table of tablesOf(target)) target.exec(`drop table "${table}"`);
    const statements = source
      .prepare(
        "select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid",
      )
      .pluck()
      .all() as string[];
    for (const statement of statements) target.exec(statement);
  });
}

function copyRows(
  from: string,
  to: string,
  { withBookkeeping, at }: { readonly withBookkeeping: boolean; readonly at: string },
): Copied {
  return withFiles(from, to, (source, target) => {
    const rows: Record<string, number> = {};
    const incomplete: string[] = [];
    for (const table of tablesOf(target)) {
      if (!withBookkeeping && BOOKKEEPING.test(table)) continue;
      const { count, isWhole } = copyTable(source, target, table);
      rows[table] = count;
      if (!isWhole) incomplete.push(table);
    }
    if (incomplete.includes('sessions')) restoreNames(source, target);
    if (incomplete.includes('keys')) keepClosed(target, at);
    return { rows, incomplete };
  });
}

function copyTable(
  source: Database.Database,
  target: Database.Database,
  table: string,
): { count: number; isWhole: boolean } {
  const there = new Set(sourceColumns(source, table));
  const columns = columnsOf(target, table).filter((name) => there.has(name));
  if (columns.length === 0) return { count: 0, isWhole: false };
  const names = columns.map((name) => `"${name}"`).join(', ');
  const insert = target.prepare(
    `insert or ignore into "${table}" (${names}) values (${columns.map(() => '?').join(', ')})`,
  );
  let count = 0;
  let isTaken = true;
  target.exec('begin');
  const isRead = readRows(source, { table, columns }, (row) => {
    const { changes } = insert.run(...row);
    count += changes;
    // One that no table of this version takes, or that is there already, holds nothing that can be used.
    isTaken &&= changes === 1;
  });
  target.exec('commit');
  return { count, isWhole: isRead && isTaken };
}

function sourceColumns(source: Database.Database, table: string): string[] {
  try {
    return columnsOf(source, table);
  } catch {
    // The description of the tables is damaged.
    return [];
  }
}

function tablesOf(database: Database.Database): string[] {
  return database
    .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    .pluck()
    .all() as string[];
}

function withFiles<T>(
  from: string,
  to: string,
  work: (source: Database.Database, target: Database.Database) => T,
): T {
  const source = new Database(from, { readonly: true, fileMustExist: true });
  try {
    // Without it nothing at all is read of a file that was cut.
    source.unsafeMode().pragma('writable_schema = on');
    const target = new Database(to, { fileMustExist: true });
    try {
      return work(source, target);
    } finally {
      target.close();
    }
  } finally {
    source.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
