/**
 * Lists of turns, in a session and across the sessions of a tenant, newest first.
 *
 * Owns their order and what a filter means. Across sessions a turn has its place by when it was opened, which never
 * changes, so that a page's end stays where it is while turns are added, entered and ended.
 */
import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { SessionId, SessionUid } from '../../contract/ids.js';
import type { TurnFilter, TurnPlace, TurnRecord } from '../session-store.js';
import { turnOfRow } from './rows.js';
import type { LogTables, SessionsTable, TurnsTable } from './schema.js';

type Turns = SelectQueryBuilder<
  LogTables & { turns: TurnsTable; sessions: SessionsTable },
  'turns' | 'sessions',
  TurnsTable & { session_id: SessionId }
>;

export async function findTurn(
  db: Kysely<LogTables>,
  uid: SessionUid,
  turn: number,
): Promise<TurnRecord | undefined> {
  const row = await turns(db)
    .where('turns.session_uid', '=', uid)
    .where('turns.turn', '=', turn)
    .executeTakeFirst();
  return row === undefined ? undefined : turnOfRow(row);
}

/** The turns of a session; `before` is a turn number. */
export async function listTurns(
  db: Kysely<LogTables>,
  uid: SessionUid,
  query: TurnFilter & { readonly limit: number; readonly before?: number },
): Promise<readonly TurnRecord[]> {
  let select = filtered(turns(db).where('turns.session_uid', '=', uid), query);
  if (query.before !== undefined) select = select.where('turns.turn', '<', query.before);
  const rows = await select.orderBy('turns.turn', 'desc').limit(query.limit).execute();
  return rows.map(turnOfRow);
}

/** The turns of all sessions of a tenant; `before` is where the page before ended. */
export async function listTurnsOfTenant(
  db: Kysely<LogTables>,
  tenant: string,
  query: TurnFilter & { readonly limit: number; readonly before?: TurnPlace },
): Promise<readonly TurnRecord[]> {
  let select = filtered(turns(db).where('turns.tenant', '=', tenant), query);
  const { before, since } = query;
  if (before !== undefined) {
    select = select.where(
      sql<boolean>`(turns.opened_at, turns.session_uid, turns.turn) < (${before.openedAt}, ${before.uid}, ${before.turn})`,
    );
  }
  if (since !== undefined) {
    // A turn may have been opened long before it was entered: from the earliest such on, the order's index is read.
    const earliest = db
      .selectFrom('turns as other')
      .select(({ fn }) => fn.min('other.opened_at').as('opened_at'))
      .where('other.tenant', '=', tenant)
      .where('other.started_at', '>=', since);
    select = select.where('turns.opened_at', '>=', earliest);
  }
  const rows = await select
    .orderBy('turns.opened_at', 'desc')
    .orderBy('turns.session_uid', 'desc')
    .orderBy('turns.turn', 'desc')
    .limit(query.limit)
    .execute();
  return rows.map(turnOfRow);
}

function turns(db: Kysely<LogTables>): Turns {
  return db
    .selectFrom('turns')
    .innerJoin('sessions', 'sessions.uid', 'turns.session_uid')
    .selectAll('turns')
    .select('sessions.id as session_id');
}

function filtered(all: Turns, { status, profile, since, until, metadata = {} }: TurnFilter): Turns {
  let select = all;
  if (status === 'ended') select = select.where('turns.ended_at', 'is not', null);
  else if (status !== undefined) {
    // The status of a session with an open turn is that of the turn.
    select = select.where('turns.ended_at', 'is', null).where('sessions.status', '=', status);
  }
  if (profile !== undefined) select = select.where('turns.profile', '=', profile);
  if (since !== undefined) select = select.where('turns.started_at', '>=', since);
  if (until !== undefined) select = select.where('turns.started_at', '<', until);
  for (const [key, value] of Object.entries(metadata)) {
    select = select.where('turns.session_uid', 'in', (query) =>
      query
        .selectFrom('session_metadata')
        .select('session_metadata.session_uid')
        .where('session_metadata.key', '=', key)
        .where('session_metadata.value', '=', value),
    );
  }
  return select;
}
