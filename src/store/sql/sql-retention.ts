/**
 * Deletion over SQL: the rows of a session, the note that something of it may be left elsewhere, and what frames outlive
 * their session.
 *
 * Owns that a deletion is one transaction, and that whatever dies after it is made good by that note.
 */
import type { Kysely } from 'kysely';
import type { Clock, SessionUid } from '../../contract/ids.js';
import type { RetentionStore } from '../retention-store.js';
import type { SessionRecord } from '../session-store.js';
import { sessionOfRow } from './rows.js';
import type { LogTables } from './schema.js';
import type { SqlFrames } from './sql-frames.js';

/** What was under way at a deletion (a frame, the start of a turn, a command that ends) has come to rest after this. */
const SETTLED_AFTER_MS = 60_000;

/** The tables that hold rows of sessions, but for the session's own. */
export const TABLES_OF_SESSIONS = [
  'events',
  'turns',
  'attempts',
  'staged',
  'approvals',
  'requests',
  'blobs',
  'follow_ups',
  'session_metadata',
] as const;

const PAGE = 500;

export interface SqlRetentionDeps {
  readonly frames: SqlFrames;
  readonly clock: Clock;
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
  readonly reclaimSpace: () => Promise<boolean>;
}

export class SqlRetention implements RetentionStore {
  constructor(
    private readonly log: Kysely<LogTables>,
    private readonly deps: SqlRetentionDeps,
  ) {}

  async idleSessions({
    unchangedSince,
    limit,
  }: Parameters<RetentionStore['idleSessions']>[0]): Promise<readonly SessionRecord[]> {
    const rows = await this.deps.guard(() =>
      this.log
        .selectFrom('sessions')
        .selectAll()
        .where('open_turn', 'is', null)
        .where('updated_at', '<=', unchangedSince)
        .orderBy('updated_at')
        .limit(limit)
        .execute(),
    );
    return rows.map(sessionOfRow);
  }

  async leftovers(limit: number): Promise<readonly SessionUid[]> {
    const rows = await this.deps.guard(() =>
      this.log
        .selectFrom('leftovers')
        .select('session_uid')
        .where('due_at', '<=', timeAfter(this.deps.clock, 0))
        .orderBy('due_at')
        .limit(limit)
        .execute(),
    );
    return rows.map((row) => row.session_uid);
  }

  async postponeLeftovers(uid: SessionUid): Promise<void> {
    await this.deps.guard(() =>
      this.log
        .updateTable('leftovers')
        .set({ due_at: timeAfter(this.deps.clock, SETTLED_AFTER_MS) })
        .where('session_uid', '=', uid)
        .execute(),
    );
  }

  async clearLeftovers(uid: SessionUid): Promise<void> {
    await this.deps.guard(async () => {
      const isThere = await this.log.transaction().execute(async (db) => {
        const standing = await db
          .selectFrom('sessions')
          .select('uid')
          .where('uid', '=', uid)
          .executeTakeFirst();
        if (standing === undefined) await deleteRows(db, uid);
        return standing !== undefined;
      });
      if (!isThere) await this.deps.frames.deleteSession(uid);
      // Last: until then the session is named again.
      await this.log.deleteFrom('leftovers').where('session_uid', '=', uid).execute();
    });
  }

  async dropStrayFrames(): Promise<number> {
    return this.deps.guard(async () => {
      const holders = await this.deps.frames.holders();
      let cleared = 0;
      for (let from = 0; from < holders.length; from += PAGE) {
        const page = holders.slice(from, from + PAGE);
        const rows = await this.log
          .selectFrom('sessions')
          .select(['uid', 'open_turn'])
          .where(
            'uid',
            'in',
            page.map(({ uid }) => uid),
          )
          .execute();
        const openTurns = new Map(rows.map((row) => [row.uid, row.open_turn]));
        for (const { uid, firstTurn, lastTurn } of page) {
          const openTurn = openTurns.get(uid);
          if (openTurn === undefined) await this.deps.frames.deleteSession(uid);
          else if (firstTurn === null || firstTurn >= (openTurn ?? Infinity)) continue;
          // The frames were listed before the turns: what is open now is not among those that have ended.
          else await this.deps.frames.dropTurnsBefore(uid, openTurn ?? (lastTurn ?? 0) + 1);
          cleared += 1;
        }
      }
      return cleared;
    });
  }

  async reclaimSpace(): Promise<boolean> {
    return this.deps.guard(() => this.deps.reclaimSpace());
  }
}

/**
 * Deletes every row of the session and notes it as one of which something may be left; false where there was none, or
 * where it was to be `unchangedSince` and is not: a turn is open, or its log has grown.
 */
export async function deleteSession(
  log: Kysely<LogTables>,
  uid: SessionUid,
  { clock, unchangedSince }: { readonly clock: Clock; readonly unchangedSince?: string | undefined },
): Promise<boolean> {
  return log.transaction().execute(async (db) => {
    let session = db.deleteFrom('sessions').where('uid', '=', uid);
    if (unchangedSince !== undefined) {
      session = session.where('open_turn', 'is', null).where('updated_at', '<=', unchangedSince);
    }
    const { numDeletedRows } = await session.executeTakeFirst();
    if (numDeletedRows !== 1n) return false;
    await deleteRows(db, uid);
    await noteLeftovers(db, uid, timeAfter(clock, SETTLED_AFTER_MS));
    return true;
  });
}

/** Notes that something of the session has to be cleared from a time on. */
export async function noteLeftovers(db: Kysely<LogTables>, uid: SessionUid, dueAt: string): Promise<void> {
  await db
    .insertInto('leftovers')
    .values({ session_uid: uid, due_at: dueAt })
    .onConflict((conflict) => conflict.column('session_uid').doUpdateSet({ due_at: dueAt }))
    .execute();
}

/** ISO 8601, so many milliseconds from now. */
export function timeAfter(clock: Clock, ms: number): string {
  return new Date(clock() + ms).toISOString();
}

async function deleteRows(db: Kysely<LogTables>, uid: SessionUid): Promise<void> {
  for (const table of TABLES_OF_SESSIONS) {
    await db.deleteFrom(table).where('session_uid', '=', uid).execute();
  }
}
