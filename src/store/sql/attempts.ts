/**
 * Attempts and who owns them: the fence that keeps a worker which was given up from writing (DESIGN, principle 5).
 *
 * Owns the rule of who may have the next attempt. The engine retries; the store decides whose word counts.
 */
import type { Kysely } from 'kysely';
import type { TurnRun } from '../../contract/agent-turn.js';
import type { SessionUid } from '../../contract/ids.js';
import type { SessionState } from '../../core/session-state.js';
import {
  StoreError,
  type AttemptGrant,
  type AttemptOwner,
  type AttemptRef,
  type TurnClaim,
} from '../session-store.js';
import { MODEL_CALL, type LogTables } from './schema.js';

type Place = Omit<AttemptRef, 'attempt'>;

/** See `LogTransaction.claimTurn`. No clock decides: an engine that was put back to an older copy may have one behind. */
export async function claimTurn(
  db: Kysely<LogTables>,
  uid: SessionUid,
  turn: number,
  { runId }: TurnRun,
): Promise<TurnClaim> {
  const row = await db
    .selectFrom('turns')
    .select(['owner_run_id', 'former_run_ids', 'summary'])
    .where('session_uid', '=', uid)
    .where('turn', '=', turn)
    .executeTakeFirst();
  if (row === undefined || row.summary !== null) return { kind: 'refused' };
  if (row.owner_run_id === runId) return { kind: 'held' };
  const former = JSON.parse(row.former_run_ids) as string[];
  if (former.includes(runId)) return { kind: 'refused' };
  if (row.owner_run_id !== null) former.push(row.owner_run_id);
  await db
    .updateTable('turns')
    .set({ owner_run_id: runId, former_run_ids: JSON.stringify(former) })
    .where('session_uid', '=', uid)
    .where('turn', '=', turn)
    .execute();
  return former.length === 0 ? { kind: 'held' } : { kind: 'taken-over', formerRuns: former.length };
}

/** Allots the next attempt at a call; see `LogTransaction.openAttempt`. */
export async function openAttempt(
  db: Kysely<LogTables>,
  state: SessionState,
  session: { readonly uid: SessionUid; readonly place: Place; readonly owner: AttemptOwner },
): Promise<AttemptGrant> {
  const { uid, place, owner } = session;
  const step = state.openTurn?.step;
  if (state.openTurn?.number !== place.turn || step?.number !== place.step) return { kind: 'superseded' };
  const claim = await claimTurn(db, uid, place.turn, owner.run);
  if (claim.kind === 'refused') return { kind: 'superseded' };
  const rows = await attemptsAt(db, uid, place).orderBy('attempt', 'desc').execute();
  const last = rows[0];
  const sameActivity = last?.run_id === owner.run.runId && last.activity_id === owner.activityId;
  if (sameActivity && last.engine_attempt > owner.engineAttempt) return { kind: 'stale' };
  const lost = rows.filter((row) => row.state === 'running').map((row) => row.attempt);
  if (lost.length > 0) {
    await db
      .updateTable('attempts')
      .set({ state: 'lost' })
      .where('session_uid', '=', uid)
      .where('turn', '=', place.turn)
      .where('step', '=', place.step)
      .where('call', '=', place.call ?? MODEL_CALL)
      .where('state', '=', 'running')
      .execute();
  }
  const settled = place.call === undefined ? step.lastAttempt : 0;
  const attempt = Math.max(last?.attempt ?? 0, settled) + 1;
  await db
    .insertInto('attempts')
    .values({
      session_uid: uid,
      turn: place.turn,
      step: place.step,
      call: place.call ?? MODEL_CALL,
      attempt,
      run_id: owner.run.runId,
      activity_id: owner.activityId,
      engine_attempt: owner.engineAttempt,
      state: 'running',
    })
    .execute();
  return { kind: 'granted', attempt, lost: lost.sort((a, b) => a - b) };
}

/** Ends an attempt that runs. @throws `StoreError` `ATTEMPT_FENCED`. */
export async function closeAttempt(db: Kysely<LogTables>, uid: SessionUid, ref: AttemptRef): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('attempts')
    .set({ state: 'closed' })
    .where('session_uid', '=', uid)
    .where('turn', '=', ref.turn)
    .where('step', '=', ref.step)
    .where('call', '=', ref.call ?? MODEL_CALL)
    .where('attempt', '=', ref.attempt)
    .where('state', '=', 'running')
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw fenced(ref);
}

export function fenced(ref: AttemptRef): StoreError {
  const what = ref.call === undefined ? 'the model call' : `call ${String(ref.call)}`;
  return new StoreError(
    'ATTEMPT_FENCED',
    `Attempt ${String(ref.attempt)} at ${what} of turn ${String(ref.turn)}, step ${String(ref.step)} does not run any more.`,
  );
}

/** The attempts of a step that run. */
export async function runningAttempts(
  db: Kysely<LogTables>,
  uid: SessionUid,
  turn: number,
  step: number,
): Promise<AttemptRef[]> {
  const rows = await db
    .selectFrom('attempts')
    .select(['call', 'attempt'])
    .where('session_uid', '=', uid)
    .where('turn', '=', turn)
    .where('step', '=', step)
    .where('state', '=', 'running')
    .orderBy('call')
    .execute();
  return rows.map(({ call, attempt }) => ({
    turn,
    step,
    attempt,
    ...(call === MODEL_CALL ? {} : { call }),
  }));
}

function attemptsAt(db: Kysely<LogTables>, uid: SessionUid, place: Place) {
  return db
    .selectFrom('attempts')
    .selectAll()
    .where('session_uid', '=', uid)
    .where('turn', '=', place.turn)
    .where('step', '=', place.step)
    .where('call', '=', place.call ?? MODEL_CALL);
}
