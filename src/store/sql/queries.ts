/** Reads of the log's tables that need no folded state: sessions and asks by id, lists and the sweeper's view. */
import type { Kysely } from 'kysely';
import type { ApprovalId, QuestionId, SessionId, SessionUid, Sha256 } from '../../contract/ids.js';
import { digestOf } from '../digest.js';
import {
  StoreError,
  type AskQuery,
  type AskRecord,
  type OpenTurnRecord,
  type SessionRecord,
  type SessionStore,
  type StoredBlob,
} from '../session-store.js';
import { askOfRow, sessionOfRow } from './rows.js';
import type { LogTables } from './schema.js';

type Log = Kysely<LogTables>;

export function selectSession(db: Log, tenant: string, id: SessionId) {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('tenant', '=', tenant)
    .where('id', '=', id)
    .executeTakeFirst();
}

export function selectSessionByUid(db: Log, uid: SessionUid) {
  return db.selectFrom('sessions').selectAll().where('uid', '=', uid).executeTakeFirst();
}

export async function listSessions(
  db: Log,
  query: Parameters<SessionStore['listSessions']>[0],
): Promise<readonly SessionRecord[]> {
  let select = db.selectFrom('sessions').selectAll().where('tenant', '=', query.tenant);
  // A UUIDv7 sorts by the time of its making.
  if (query.before !== undefined) select = select.where('uid', '<', query.before as SessionUid);
  if (query.status !== undefined) select = select.where('status', '=', query.status);
  const rows = await select.orderBy('uid', 'desc').limit(query.limit).execute();
  return rows.map(sessionOfRow);
}

export async function findAsk(
  db: Log,
  tenant: string,
  id: ApprovalId | QuestionId,
): Promise<AskRecord | undefined> {
  // A copy of a session has the ids of its original; what is open is meant first.
  const rows = await asks(db)
    .where('approvals.id', '=', id)
    .where('approvals.tenant', '=', tenant)
    .orderBy('approvals.session_uid')
    .execute();
  const row = rows.find(({ closed_seq: closedSeq }) => closedSeq === null) ?? rows[0];
  return row === undefined ? undefined : askOfRow(row);
}

export async function listAsks(db: Log, query: AskQuery): Promise<readonly AskRecord[]> {
  const { tenant, kind, before, uid, status, limit } = query;
  let select = asks(db).where('approvals.tenant', '=', tenant).where('approvals.kind', '=', kind);
  if (before !== undefined) select = select.where('approvals.id', '<', before as ApprovalId);
  if (uid !== undefined) select = select.where('approvals.session_uid', '=', uid);
  if (status !== undefined) {
    select = select.where('approvals.closed_seq', status === 'open' ? 'is' : 'is not', null);
  }
  const rows = await select.orderBy('approvals.id', 'desc').limit(limit).execute();
  return rows.map(askOfRow);
}

function asks(db: Log) {
  return db
    .selectFrom('approvals')
    .innerJoin('sessions', 'sessions.uid', 'approvals.session_uid')
    .selectAll('approvals')
    .select('sessions.id as session_id');
}

export async function openTurns(db: Log, quietSince: string): Promise<readonly OpenTurnRecord[]> {
  const rows = await db
    .selectFrom('sessions')
    .select(['uid', 'id', 'open_turn', 'updated_at', 'cancel_requested', 'status'])
    .where('open_turn', 'is not', null)
    .where('updated_at', '<=', quietSince)
    .orderBy('updated_at')
    .execute();
  return rows.map((row) => ({
    uid: row.uid,
    sessionId: row.id,
    turn: row.open_turn ?? 0,
    updatedAt: row.updated_at,
    cancelRequested: row.cancel_requested === 1,
    status: row.status,
  }));
}

/** @throws `StoreError` `LOG_CORRUPT` where the bytes are not those of the digest. */
export async function selectBlob(db: Log, uid: SessionUid, sha256: Sha256): Promise<StoredBlob | undefined> {
  const row = await db
    .selectFrom('blobs')
    .select(['bytes', 'media_type'])
    .where('session_uid', '=', uid)
    .where('sha256', '=', sha256)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  if (digestOf(row.bytes) !== sha256) {
    throw new StoreError('LOG_CORRUPT', `The blob ${sha256} is not as it was stored.`);
  }
  return { bytes: row.bytes, mediaType: row.media_type };
}

export async function selectBlobType(db: Log, uid: SessionUid, sha256: Sha256): Promise<string | undefined> {
  const row = await db
    .selectFrom('blobs')
    .select('media_type')
    .where('session_uid', '=', uid)
    .where('sha256', '=', sha256)
    .executeTakeFirst();
  return row?.media_type;
}

/** Keeps bytes under their digest; the same bytes twice are one blob. */
export async function insertBlob(
  db: Log,
  uid: SessionUid,
  blob: { readonly sha256: Sha256; readonly bytes: Uint8Array; readonly mediaType: string },
): Promise<void> {
  await db
    .insertInto('blobs')
    .values({ session_uid: uid, sha256: blob.sha256, media_type: blob.mediaType, bytes: blob.bytes })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
