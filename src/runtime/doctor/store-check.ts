/** Checks the session log's database without changing it: no migration, and no lock that a server would notice. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { complaintsOf } from '../../store/sqlite/salvage.js';
import { storeLocation } from '../configuration/store-location.js';
import { type Check, ok, problem } from './check.js';

const sessionsSchema = z.object({ count: z.number() });
const migrationSchema = z.object({ name: z.string().nullable() });

export const storeCheck: Check = {
  name: 'store',
  run: async ({ configuration }) => {
    const { file } = storeLocation(configuration);
    if (!existsSync(file)) return ok(`There is no session log yet; ${file} is made at the first start.`);
    try {
      const { sessions, migration } = lookInto(file);
      const complaints = complaintsOf(file);
      if (complaints.length > 0) {
        return problem(
          `The session log ${file} is damaged: ${complaints.slice(0, 3).join('; ')}. Stop the server and run "turnkeeper doctor --repair"; make a copy of the file before.`,
        );
      }
      return ok(
        `The session log ${file} opens, with ${String(sessions)} sessions and the schema ${migration}.`,
      );
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const isDamaged = error instanceof Database.SqliteError && /CORRUPT|NOTADB/.test(error.code);
      const advice = isDamaged
        ? 'Stop the server and run "turnkeeper doctor --repair", or restore a backup.'
        : 'Look at its permissions, at its disk, and whether store.url names the right file.';
      return problem(`The session log ${file} cannot be read: ${why}. ${advice}`);
    }
  },
};

function lookInto(file: string): { readonly sessions: number; readonly migration: string } {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    const sessions = database.prepare('SELECT count(*) AS count FROM sessions').get();
    const migration = database.prepare('SELECT max(name) AS name FROM log_migration').get();
    return {
      sessions: sessionsSchema.parse(sessions).count,
      migration: migrationSchema.parse(migration).name ?? 'of no version',
    };
  } finally {
    database.close();
  }
}
