/**
 * The projections of an append: the rows of session, turns and requests that lists and look-ups are made from.
 *
 * Owns that they never lag behind the log: they are written in the append's own transaction.
 */
import type { Transaction } from 'kysely';
import type { SessionEvent } from '../../contract/events.js';
import type { ApprovalId, ItemId, QuestionId, RequestId, SessionUid } from '../../contract/ids.js';
import type { Inbox } from '../../core/inbox.js';
import { sessionStatus, type OpenTurn, type SessionState } from '../../core/session-state.js';
import { chunked } from './chunked.js';
import type { TurnSummary } from './rows.js';
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
  for (const turn of opened) await turnOpened(db, place, turn);
  for (const event of added) {
    const { turn, step } = event;
    const ask = askOf(event);
    if (ask !== undefined) await projectAsk(db, place, ask);
    if (turn === undefined) continue;
    if (event.type === 'agent/inbox/spliced' && event.data.outcome === 'claimed') {
      const taken = requestsOf(event.data.removed ?? [], before, added);
      await promptsTaken(db, { ...place, turn }, taken);
    }
    if (event.type === 'turn/start') await turnStarted(db, { ...place, turn }, event.data.requestIds);
    if (event.type === 'turn/end') {
      const { reason, output, usage, steps } = event.data;
      const summary = { reason, ...(output === undefined ? {} : { output }), usage, steps };
      await turnEnded(db, { ...place, turn }, summary);
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

async function turnOpened(db: Transaction<LogTables>, { uid }: Place, turn: OpenTurn): Promise<void> {
  await db
    .insertInto('turns')
    .values({
      session_uid: uid,
      turn: turn.number,
      started_at: turn.startedAt,
      ended_at: null,
      owner_run_id: null,
      owner_started_at: null,
      request_ids: JSON.stringify(turn.requestIds),
      summary: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

type TurnPlace = Place & { readonly turn: number };

async function turnStarted(
  db: Transaction<LogTables>,
  { uid, turn, at }: TurnPlace,
  requestIds: readonly RequestId[],
): Promise<void> {
  await db
    .updateTable('turns')
    .set({ started_at: at, request_ids: JSON.stringify(requestIds) })
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
  summary: TurnSummary,
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
