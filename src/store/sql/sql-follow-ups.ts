/** Follow-ups of turns over SQL, on the database of the session log. */
import type { Kysely, Transaction } from 'kysely';
import type { FollowUpRef } from '../../contract/follow-up.js';
import type { Clock, SessionUid } from '../../contract/ids.js';
import type {
  FollowUpOutcome,
  FollowUpStore,
  FollowUpTry,
  NewFollowUp,
  WebhookTarget,
} from '../follow-up-store.js';
import type { LogTables } from './schema.js';

export class SqlFollowUpStore implements FollowUpStore {
  constructor(
    private readonly db: Kysely<LogTables>,
    private readonly options: {
      readonly clock: Clock;
      /** Runs work on the database and translates what it throws. */
      readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
    },
  ) {}

  async due(of: Parameters<FollowUpStore['due']>[0]): Promise<readonly FollowUpRef[]> {
    const due = this.db
      .selectFrom('follow_ups')
      .select(['session_uid', 'turn', 'kind'])
      .where('state', '=', 'due');
    const some =
      'uid' in of
        ? due.where('session_uid', '=', of.uid).where('turn', '=', of.turn)
        : due.where('due_at', '<=', of.before).orderBy('due_at').limit(of.limit);
    const rows = await this.options.guard(() => some.execute());
    return rows.map(({ session_uid: uid, turn, kind }) => ({ uid, turn, kind }));
  }

  async begin({ uid, turn, kind }: FollowUpRef): Promise<FollowUpTry | undefined> {
    const row = await this.options.guard(() =>
      this.db
        .updateTable('follow_ups')
        .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
        .where('session_uid', '=', uid)
        .where('turn', '=', turn)
        .where('kind', '=', kind)
        .where('state', '=', 'due')
        .returning(['attempts', 'due_at', 'data'])
        .executeTakeFirst(),
    );
    if (row === undefined) return undefined;
    return {
      attempts: row.attempts,
      dueAt: row.due_at ?? '',
      ...(row.data === null ? {} : { target: JSON.parse(row.data) as WebhookTarget }),
    };
  }

  async settle(ref: FollowUpRef, outcome: FollowUpOutcome): Promise<void> {
    const at = new Date(this.options.clock()).toISOString();
    await this.options.guard(() => settleFollowUp(this.db, ref, { outcome, at }));
  }
}

/** Keeps a follow-up until its turn ends; one of the same kind that is there already stays. */
export async function addFollowUp(
  db: Transaction<LogTables>,
  uid: SessionUid,
  followUp: NewFollowUp,
): Promise<void> {
  await db
    .insertInto('follow_ups')
    .values({
      session_uid: uid,
      turn: followUp.turn,
      kind: followUp.kind,
      data: followUp.kind === 'webhook' ? JSON.stringify(followUp.target) : null,
      state: 'waiting',
      attempts: 0,
      due_at: null,
      done_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** What follows the turn is due from now on. */
export async function followUpsDue(
  db: Transaction<LogTables>,
  { uid, turn, at }: { readonly uid: SessionUid; readonly turn: number; readonly at: string },
): Promise<void> {
  await db
    .updateTable('follow_ups')
    .set({ state: 'due', due_at: at })
    .where('session_uid', '=', uid)
    .where('turn', '=', turn)
    .where('state', '=', 'waiting')
    .execute();
}

/** Settles a follow-up that is due, and forgets what it needed. */
export async function settleFollowUp(
  db: Kysely<LogTables>,
  { uid, turn, kind }: FollowUpRef,
  { outcome, at }: { readonly outcome: FollowUpOutcome; readonly at: string },
): Promise<void> {
  await db
    .updateTable('follow_ups')
    .set({ state: outcome, data: null, done_at: at })
    .where('session_uid', '=', uid)
    .where('turn', '=', turn)
    .where('kind', '=', kind)
    .where('state', '=', 'due')
    .execute();
}
