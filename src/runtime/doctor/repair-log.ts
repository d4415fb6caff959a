/**
 * Mends the session log, with nobody else on it: first the file, then the sessions in it. Says each thing that it did.
 */
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import type { Configuration } from '../../contract/configuration.js';
import { repairSession, restoreSessions } from '../../store/repair/repair-session.js';
import { framesPath, openSqliteStore } from '../../store/sqlite/open.js';
import { complaintsOf, salvage, SalvageError } from '../../store/sqlite/salvage.js';
import { storeLocation } from '../configuration/store-location.js';
import { HomeLockedError } from '../home/home-error.js';
import { acquireHomeLock } from '../home/home-lock.js';
import { type Finding, ok, problem } from './check.js';
import { checkedSessions, withLogDatabase } from './log-database.js';

/** In the home: the events that were cut off, a file for each session. */
const CUT_OFF_FOLDER = 'cut-off';

/** Mends what can be mended. Throws nothing that a person could have done something about. */
export async function* repairLog(configuration: Configuration): AsyncGenerator<Finding, void, void> {
  const { file } = storeLocation(configuration);
  if (!existsSync(file)) {
    yield ok('There is no session log, and so nothing to mend.');
    return;
  }
  let lock: ReturnType<typeof acquireHomeLock>;
  try {
    lock = acquireHomeLock(configuration.home);
  } catch (error) {
    if (!(error instanceof HomeLockedError)) throw error;
    yield problem('Nothing was mended: a server has the home. Stop it, run this again, and start it then.');
    return;
  }
  try {
    const at = new Date().toISOString();
    const files = yield* repairFiles(file, at);
    if (files === 'lost') return;
    yield* repairSessions(file, { folder: join(configuration.home, CUT_OFF_FOLDER), at });
  } finally {
    lock.release();
  }
}

async function* repairFiles(file: string, at: string): AsyncGenerator<Finding, 'whole' | 'lost', void> {
  for (const isFrames of [false, true]) {
    const path = isFrames ? framesPath(file) : file;
    if (!existsSync(path) || complaintsOf(path).length === 0) continue;
    try {
      // Without its frames a log has lost nothing but what is on the way.
      const createEmpty = (empty: string) => createDatabase(empty, isFrames);
      const done = await salvage(path, { createEmpty, at, mayBeEmpty: isFrames });
      const how =
        done.by === 'reindex'
          ? 'its indexes were made anew'
          : `all rows that can be read were copied (${countsOf(done.rows)})`;
      const cut = done.incomplete.length === 0 ? '' : ` Not whole: ${done.incomplete.join(', ')}.`;
      yield ok(`The file ${path} was damaged: ${how}.${cut} What it was is kept as ${done.aside}.`);
    } catch (error) {
      if (!(error instanceof SalvageError)) throw error;
      yield problem(
        `The file ${path} is damaged, and nothing can be had of it. ${error.message} Restore a backup.`,
      );
      return 'lost';
    }
  }
  return 'whole';
}

/** The log's file of a new store, or that of its frames, under a name of its own. */
async function createDatabase(path: string, isFrames: boolean): Promise<void> {
  const folder = mkdtempSync(join(dirname(path), '.new-'));
  try {
    const log = join(folder, 'sessions.db');
    await (await openSqliteStore({ path: log, clock: Date.now })).close();
    renameSync(isFrames ? framesPath(log) : log, path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function countsOf(rows: Readonly<Record<string, number>>): string {
  return `${String(rows.sessions ?? 0)} sessions, ${String(rows.events ?? 0)} events`;
}

async function* repairSessions(
  file: string,
  { folder, at }: { readonly folder: string; readonly at: string },
): AsyncGenerator<Finding, void, void> {
  const store = await openSqliteStore({ path: file, clock: Date.now });
  try {
    let mended = 0;
    const findings: Finding[] = [];
    await withLogDatabase(file, { readonly: false }, async (log) => {
      for (const id of await restoreSessions(log)) {
        mended += 1;
        findings.push(ok(`${id}: its row was missing and was made anew; what its id was is not known.`));
      }
      for await (const check of checkedSessions(log)) {
        const { session, damage } = check;
        const keep = (rows: readonly unknown[]): void => {
          mkdirSync(folder, { recursive: true, mode: 0o700 });
          const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
          appendFileSync(
            join(
              folder,
              `${session.uid.replaceAll(/[^0-9a-f-]/g, '_').slice(0, 40)}-${at.replaceAll(':', '-')}.jsonl`,
            ),
            lines,
            {
              mode: 0o600,
            },
          );
        };
        if (damage?.isUnsupported === true) {
          findings.push(problem(`${session.id}: ${damage.reason} Nothing was changed.`));
          continue;
        }
        for (const done of await repairSession(log, store, check, {
          ids: { uuid: uuidv7 },
          clock: Date.now,
          keep,
        })) {
          mended += 1;
          findings.push(ok(`${session.id}: ${done}.`));
        }
      }
    });
    yield* findings;
    if (mended === 0) yield ok('No session had to be mended.');
  } finally {
    await store.close();
  }
}
