/**
 * The projections of an append: the rows of session, turns and requests that lists and look-ups are made from.
 *
 * Owns that they never lag behind the log: they are written in the append's own transaction.
 */
import type { Transaction } from 'kysely';
import type { EventData, SessionEvent } from '../../contract/events.js';
import type { ApprovalId, ItemId, QuestionId, RequestId, SessionUid } from '../../contract/ids.js';
import type { Metadata } from '../../contract/session.js';
import type { Inbox } from '../../core/inbox.js';
import { sessionStatus, type OpenTurn, type SessionState } from '../../core/session-state.js';
import { chunked } from './chunked.js';
import { followUpsDue } from './sql-follow-ups.js';
import type { LogTables } from './schema.js';

/** What an append amounts to: the inbox before it, its events, the turns that they opened, and the state after it. */
export interface LogChange {
  readonly before: Inbox;
  readonly added: readonly SessionEvent[];
  readonly opened: readonly OpenTurn[];
  readonly after: SessionState;
}

interface Place {
  readonly uid: SessionUid;
  readonly tenant: string;
  /** The time of the transaction. */
  readonly at: string;
}

/** Brings the projections up to the log's new head. */
export async function projectChange(
  db: Transaction<LogTables>,
  place: Place,
  { before, added, opened, after }: LogChange,
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({
      head_seq: after.headSeq,
      updated_at: place.at,
      open_turn: after.openTurn?.number ?? null,
      cancel_requested: after.openTurn?.cancel == null ? 0 : 1,
      status: sessionStatus(after),
    })
    .where('uid', '=', place.uid)
    .execute();
  const profile = after.settings?.profile ?? '';
  for (const turn of opened) await turnOpened(db, { ...place, profile }, turn);
  for (const event of added) {
    const { turn, step } = event;
    if (event.type === 'session/created' || event.type === 'session/settings') {
      await projectMetadata(db, place.uid, after.settings?.metadata ?? {});
    }
    const ask = askOf(event);
    if (ask !== undefined) await projectAsk(db, place, ask);
    if (turn === undefined) continue;
    if (event.type === 'agent/inbox/spliced' && event.data.outcome === 'claimed') {
      const taken = requestsOf(event.data.removed ?? [], before, added);
      await promptsTaken(db, { ...place, turn }, taken);
    }
    if (event.type === 'turn/start') {
      await turnStarted(db, { ...place, profile, turn }, event.data.requestIds);
    }
    if (event.type === 'turn/end') {
      await turnEnded(db, { ...place, turn }, event.data);
      await followUpsDue(db, { ...place, turn });
    }
    if (event.type === 'step/end' && step !== undefined) await stepEnded(db, place.uid, turn, step);
  }
}

interface Ask {
  readonly id: ApprovalId | QuestionId;
  readonly kind: 'approval' | 'question';
  readonly event: SessionEvent;
  readonly opens: boolean;
}

/** The approval or question that the event opens or closes. */
function askOf(event: SessionEvent): Ask | undefined {
  switch (event.type) {
    case 'approval/asked':
    case 'approval/decided':
      return {
        id: event.data.approvalId,
        kind: 'approval',
        event,
        opens: event.type === 'approval/asked',
      };
    case 'question/asked':
    case 'question/answered':
      return {
        id: event.data.questionId,
        kind: 'question',
        event,
        opens: event.type === 'question/asked',
      };
    default:
      return undefined;
  }
}

async function projectAsk(
  db: Transaction<LogTables>,
  { uid, tenant }: Place,
  { id, kind, event, opens }: Ask,
): Promise<void> {
  if (!opens) {
    await db
      .updateTable('approvals')
      .set({ closed_seq: event.seq })
      .where('id', '=', id)
      .where('session_uid', '=', uid)
      .execute();
    return;
  }
  await db
    .insertInto('approvals')
    .values({
      id,
      kind,
      session_uid: uid,
      tenant,
      turn: event.turn ?? 0,
      step: event.step ?? 0,
      asked_seq: event.seq,
      closed_seq: null,
    })
    .execute();
}

/** The metadata of a session, as it is after the append. */
async function projectMetadata(
  db: Transaction<LogTables>,
  uid: SessionUid,
  metadata: Metadata,
): Promise<void> {
  await db.deleteFrom('session_metadata').where('session_uid', '=', uid).execute();
  const rows = Object.entries(metadata).map(([key, value]) => ({ session_uid: uid, key, value }));
  if (rows.length > 0) await db.insertInto('session_metadata').values(rows).execute();
}

type ProfilePlace = Place & { readonly profile: string };

async function turnOpened(
  db: Transaction<LogTables>,
  { uid, tenant, profile }: ProfilePlace,
  turn: OpenTurn,
): Promise<void> {
  await db
    .insertInto('turns')
    .values({
      session_uid: uid,
      turn: turn.number,
      started_at: turn.startedAt,
      ended_at: null,
      owner_run_id: null,
      former_run_ids: '[]',
      request_ids: JSON.stringify(turn.requestIds),
      summary: null,
      tenant,
      opened_at: turn.startedAt,
      profile,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

type TurnPlace = Place & { readonly turn: number };

async function turnStarted(
  db: Transaction<LogTables>,
  { uid, turn, at, profile }: TurnPlace & ProfilePlace,
  requestIds: readonly RequestId[],
): Promise<void> {
  await db
    .updateTable('turns')
    .set({ started_at: at, profile, request_ids: JSON.stringify(requestIds) })
    .where('session_uid', '=', uid)
    .where('turn', '=', turn)
    .execute();
}

/** A prompt has its turn from the claim on, at the entry of the turn or at a later step of it. */
async function promptsTaken(
  db: Transaction<LogTables>,
  { uid, turn }: TurnPlace,
  requestIds: readonly RequestId[],
): Promise<void> {
  for (const some of chunked(requestIds)) {
    await db
      .updateTable('requests')
      .set({ turn })
      .where('session_uid', '=', uid)
      .where('request_id', 'in', some)
      .execute();
  }
}

async function turnEnded(
  db: Transaction<LogTables>,
  { uid, turn, at }: TurnPlace,
  summary: EventData<'turn/end'>,
): Promise<void> {
  await db
    .updateTable('turns')
    .set({ ended_at: at, summary: JSON.stringify(summary) })
    .where('session_uid', '=', uid)
    .where('turn', '=', turn)
    .execute();
}

/** A step that has ended needs neither its attempts nor its staged results: no attempt of it can be opened again. */
async function stepEnded(
  db: Transaction<LogTables>,
  uid: SessionUid,
  turn: number,
  step: number,
): Promise<void> {
  for (const table of ['attempts', 'staged'] as const) {
    await db
      .deleteFrom(table)
      .where('session_uid', '=', uid)
      .where('turn', '=', turn)
      .where('step', '=', step)
      .execute();
  }
}

/** The request ids of items that stood in the inbox, or entered it by the same append. */
function requestsOf(
  itemIds: readonly ItemId[],
  { nextStep, nextTurn }: Inbox,
  added: readonly SessionEvent[],
): RequestId[] {
  const taken = new Set(itemIds);
  const inserted = added.flatMap((event) =>
    event.type === 'agent/inbox/spliced' ? (event.data.inserted ?? []) : [],
  );
  return [...nextStep, ...nextTurn, ...inserted]
    .filter(({ itemId }) => taken.has(itemId))
    .map(({ requestId }) => requestId);
}
