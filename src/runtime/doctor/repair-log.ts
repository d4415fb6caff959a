/**
 * Mends the session log, with nobody else on it: first the files, then the sessions in them. Says each thing that it did.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Kysely } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Configuration } from '../../contract/configuration.js';
import { repairSession } from '../../store/repair/repair-session.js';
import { clearStrayFrames, clearStrayRows, restoreSessions } from '../../store/repair/strays.js';
import { StoreError, type SessionStore } from '../../store/session-store.js';
import type { FrameTables, LogTables } from '../../store/sql/schema.js';
import { framesPath, openSqliteStore } from '../../store/sqlite/open.js';
import { complaintsOf, salvage, SalvageError, type Salvage } from '../../store/sqlite/salvage.js';
import { storeLocation } from '../configuration/store-location.js';
import { HomeLockedError } from '../home/home-error.js';
import { acquireHomeLock, type HomeLock } from '../home/home-lock.js';
import { type Finding, ok, problem, warning } from './check.js';
import { CutOffFolder } from './cut-off-folder.js';
import { checkedSessions, withDatabase } from './log-database.js';

/** Mends what can be mended. Throws nothing that a person could have done something about. */
export async function* repairLog(configuration: Configuration): AsyncGenerator<Finding, void, void> {
  const { file } = storeLocation(configuration);
  if (!existsSync(file)) {
    yield ok('There is no session log, and so nothing to mend.');
    return;
  }
  let lock: HomeLock;
  try {
    lock = acquireHomeLock(configuration.home);
  } catch (error) {
    if (!(error instanceof HomeLockedError)) throw error;
    yield problem('Nothing was mended: a server has the home. Stop it, run this again, and start it then.');
    return;
  }
  try {
    const at = new Date().toISOString();
    let isWhole = true;
    for await (const finding of repairFiles(file, at)) {
      isWhole &&= finding.status !== 'problem';
      yield finding;
    }
    if (isWhole) yield* repairSessions(file, { cutOff: new CutOffFolder(configuration.home, at), at });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    yield problem(`The session log cannot be mended by this version. ${error.message}`);
  } finally {
    lock.release();
  }
}

async function* repairFiles(log: string, at: string): AsyncGenerator<Finding, void, void> {
  for (const file of [log, framesPath(log)]) {
    if (!existsSync(file) || complaintsOf(file).length === 0) continue;
    try {
      const done = await salvage(file, {
        // A store makes both files, in a folder of their own.
        makeCurrent: async (path) => {
          const store = await openSqliteStore({ path: join(dirname(path), basename(log)), clock: Date.now });
          await store.close();
        },
        at,
        // Without its frames a log has lost nothing but what is on the way.
        mayBeEmpty: file !== log,
      });
      yield ok(salvaged(file, done));
      if (done.incomplete.includes('keys')) yield warning(KEYS_LOST);
    } catch (error) {
      if (!(error instanceof SalvageError)) throw error;
      yield problem(
        `The file ${file} is damaged, and nothing can be had of it. ${error.message} Restore a backup; or move the file ` +
          'away, and the next start makes an empty log.',
      );
    }
  }
}

const KEYS_LOST =
  'API keys may be lost, and a server with this log serves nobody without one: see "turnkeeper keys list", and make new ' +
  'ones with "turnkeeper keys create".';

function salvaged(file: string, { by, rows, incomplete, aside }: Salvage): string {
  const { sessions = 0, events = 0 } = rows;
  const how =
    by === 'reindex'
      ? 'its indexes were made anew'
      : `all rows that can be read were copied (${String(sessions)} sessions, ${String(events)} events)`;
  const lost = incomplete.length === 0 ? '' : ` Rows are lost of: ${incomplete.join(', ')}.`;
  return `The file ${file} was damaged: ${how}.${lost} What it was is kept as ${aside}.`;
}

interface RepairPlace {
  readonly cutOff: CutOffFolder;
  readonly at: string;
}

async function* repairSessions(file: string, place: RepairPlace): AsyncGenerator<Finding, void, void> {
  const store = await openSqliteStore({ path: file, clock: Date.now });
  try {
    const findings = await withDatabase(file, { readonly: false }, (log: Kysely<LogTables>) =>
      mendSessions(log, store, place),
    );
    const frames = await withDatabase(framesPath(file), { readonly: false }, (db: Kysely<FrameTables>) =>
      clearStrayFrames(db, store),
    );
    if (frames > 0) findings.push(ok(`${String(frames)} frames that cannot be read were taken out.`));
    yield* findings;
    if (findings.length === 0) yield ok('No session had to be mended.');
  } finally {
    await store.close();
  }
}

async function mendSessions(
  log: Kysely<LogTables>,
  store: SessionStore,
  { cutOff, at }: RepairPlace,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const id of await restoreSessions(log)) {
    findings.push(ok(`${id}: its row was lost and was made anew; what its id was is not known.`));
  }
  for await (const check of checkedSessions(log)) {
    const { session, damage } = check;
    if (damage?.isUnsupported === true) {
      findings.push(problem(`${session.id}: ${damage.reason}. Nothing was changed.`));
      continue;
    }
    const done = await repairSession(log, check, {
      ids: { uuid: uuidv7 },
      clock: Date.now,
      keep: (rows) => {
        cutOff.keep(session.uid, rows);
      },
    });
    findings.push(...done.map((what) => ok(`${session.id}: ${what}.`)));
  }
  const strays = await clearStrayRows(log, store, {
    at,
    keep: (rows) => {
      cutOff.keep('no-session', rows);
    },
  });
  if (strays > 0) {
    findings.push(ok(`Rows of ${String(strays)} sessions that are not there were taken out.`));
  }
  if (cutOff.folder !== undefined)
    findings.push(ok(`The events that were taken out are kept in ${cutOff.folder}.`));
  return findings;
}
