/**
 * A database with which the engine cannot work is put aside, and never written or removed: the session log has all that
 * is needed to go on with an empty one.
 */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Logger } from 'pino';
import { DATABASE_FILE } from './engine-state.js';

const COMPANIONS = ['', '-wal', '-shm'];

export interface EngineDatabase {
  readonly home: string;
  readonly logger: Pick<Logger, 'error'>;
}

/**
 * Moves the database away where it is damaged, or was never finished; says so in the log. No engine has it open.
 *
 * @returns whether it was moved.
 */
export function putAsideDamagedDatabase({ home, logger }: EngineDatabase): boolean {
  const file = join(home, DATABASE_FILE);
  if (!existsSync(file)) return false;
  const damage = damageOf(file);
  if (damage === undefined) return false;
  const aside = `${file}.damaged-${new Date().toISOString().replaceAll(':', '-')}`;
  for (const companion of COMPANIONS) {
    if (existsSync(file + companion)) renameSync(file + companion, aside + companion);
  }
  logger.error(
    { aside, damage },
    "the engine's database was damaged and is put aside; open turns go on from the session log",
  );
  return true;
}

/** Undefined also where it cannot be opened for a reason that is not in it. */
function damageOf(file: string): string | undefined {
  try {
    const database = new Database(file, { readonly: true, fileMustExist: true });
    try {
      const result = String(database.pragma('integrity_check(1)', { simple: true }));
      if (result !== 'ok') return result;
      // An engine that was killed while it made the file, or a power cut that emptied it: no engine finishes it.
      const used = database.prepare('select 1 from namespaces limit 1').get();
      return used === undefined ? 'nothing was ever stored in it' : undefined;
    } finally {
      database.close();
    }
  } catch (error) {
    const isDamage = error instanceof Database.SqliteError && /CORRUPT|NOTADB|_ERROR$/.test(error.code);
    return isDamage ? error.message : undefined;
  }
}
