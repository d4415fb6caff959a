/** Checks the session log's files without changing them: no migration, and no lock that a server would notice. */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { framesPath } from '../../store/sqlite/open.js';
import { complaintsOf } from '../../store/sqlite/salvage.js';
import { storeLocation } from '../configuration/store-location.js';
import { type Check, type Finding, ok, problem, warning } from './check.js';
import { schemaAge, withLog } from './log-database.js';

const MAX_NAMED = 3;
const REPAIR = 'Stop the server, make a copy of the file, and run "turnkeeper doctor --repair".';

export const storeCheck: Check = {
  name: 'store',
  run: async ({ configuration }) => {
    const { file } = storeLocation(configuration);
    if (!existsSync(file) && existsSync(framesPath(file))) {
      return problem(
        `The session log ${file} is missing, and was there once: put it back, or restore a backup.`,
      );
    }
    if (!existsSync(file)) return ok(`There is no session log yet; ${file} is made at the first start.`);
    try {
      const { sessions, age } = await withLog(file, async (log) => ({
        sessions: await log
          .selectFrom('sessions')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow(),
        age: await schemaAge(log),
      }));
      for (const each of [file, framesPath(file)]) {
        const complaints = existsSync(each) ? complaintsOf(each) : [];
        if (complaints.length === 0) continue;
        return problem(
          `The file ${each} is damaged: ${complaints.slice(0, MAX_NAMED).join('; ')}. ${REPAIR}`,
        );
      }
      return ofAge[age](`The session log ${file} is whole, with ${String(sessions.count)} sessions`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const isDamaged =
        error instanceof Database.SqliteError && /CORRUPT|NOTADB|SHORT_READ|^SQLITE_ERROR/.test(error.code);
      const advice = isDamaged
        ? `${REPAIR} Or restore a backup.`
        : 'Look at its permissions, at its disk, and whether store.url names the right file.';
      return problem(`The session log ${file} cannot be read: ${why}. ${advice}`);
    }
  },
};

const ofAge: Readonly<Record<'current' | 'older' | 'newer', (what: string) => Finding>> = {
  current: (what) => ok(`${what}, in the tables of this version.`),
  older: (what) =>
    warning(
      `${what}. An older version made its tables; the next start brings them to this one, and that version refuses them ` +
        'afterwards: make a backup before.',
    ),
  newer: (what) => problem(`${what}. A newer version made its tables: start that one.`),
};
