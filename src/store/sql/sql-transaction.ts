/**
 * One transaction on one session's log: appends, their projections, attempts, staged results and request ids.
 *
 * Owns that seq is contiguous and that a known key is not appended again. The projections of an append are in
 * `projections.ts`.
 * Commit, notification and the cache of states are the store's.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { TurnRun } from '../../contract/agent-turn.js';
import type { Frame } from '../../contract/chunks.js';
import { EVENT_SCHEMAS, isEventType, type NewEvent, type SessionEvent } from '../../contract/events.js';
import type { FollowUpRef } from '../../contract/follow-up.js';
import type { ItemId, KeyId, RequestId, Sha256 } from '../../contract/ids.js';
import type { PreExecuted } from '../../core/permission.js';
import { evolve, type OpenTurn, type SessionState } from '../../core/session-state.js';
import { digestOf } from '../digest.js';
import type { FollowUpOutcome, NewFollowUp } from '../follow-up-store.js';
import { moveLargeContent } from '../large-content.js';
import {
  StoreError,
  type AttemptGrant,
  type AttemptOwner,
  type AttemptRef,
  type LogTransaction,
  type RequestRecord,
  type SessionRecord,
  type StagedResult,
  type StoredBlob,
  type TurnClaim,
} from '../session-store.js';
import { claimTurn, closeAttempt, fenced, openAttempt, runningAttempts } from './attempts.js';
import { chunked } from './chunked.js';
import { projectChange } from './projections.js';
import { insertBlob, selectBlob, selectBlobType } from './queries.js';
import { eventOfRow, rowOfEvent } from './rows.js';
import { PRE_EXECUTED, type LogTables, type RequestsTable } from './schema.js';
import { addFollowUp, settleFollowUp } from './sql-follow-ups.js';
import { countPrompt } from './sql-key-store.js';

export class SqlTransaction implements LogTransaction {
  #state: SessionState;

  constructor(
    private readonly db: Transaction<LogTables>,
    readonly record: SessionRecord,
    state: SessionState,
    private readonly outside: {
      readonly at: string;
      readonly frames: (ref: AttemptRef) => Promise<readonly Frame[]>;
    },
  ) {
    this.#state = state;
  }

  get state(): SessionState {
    return this.#state;
  }

  get at(): string {
    return this.outside.at;
  }

  async append(events: readonly NewEvent[]): Promise<readonly SessionEvent[]> {
    const standing = await this.#standing(events);
    const result: SessionEvent[] = [];
    const rows: ReturnType<typeof rowOfEvent>[] = [];
    const added: SessionEvent[] = [];
    const opened: OpenTurn[] = [];
    // Kept apart until the rows stand: a refused append leaves the state as the log is.
    let state = this.#state;
    for (const candidate of events) {
      const known = candidate.key === undefined ? undefined : standing.get(candidate.key);
      if (known !== undefined) {
        result.push(known);
        continue;
      }
      const event = await moveLargeContent(validated(candidate), (bytes, mediaType) =>
        this.saveBlob(bytes, mediaType),
      );
      const { key, ...body } = event;
      const stored = {
        sessionId: this.record.id,
        seq: state.headSeq + 1,
        at: this.at,
        ...body,
      } as SessionEvent;
      rows.push(rowOfEvent(event, { uid: this.record.uid, seq: stored.seq, at: this.at }));
      if (key !== undefined) standing.set(key, stored);
      const after = evolve(state, stored);
      const turn = after.openTurn;
      if (turn !== null && turn.number !== state.openTurn?.number) opened.push(turn);
      state = after;
      added.push(stored);
      result.push(stored);
    }
    if (rows.length === 0) return result;
    for (const some of chunked(rows)) await this.db.insertInto('events').values(some).execute();
    const change = { before: this.#state.inbox, added, opened, after: state };
    this.#state = state;
    await projectChange(this.db, { uid: this.record.uid, tenant: this.record.tenant, at: this.at }, change);
    return result;
  }

  /** The events that stand under the keys of the candidates. */
  async #standing(events: readonly NewEvent[]): Promise<Map<string, SessionEvent>> {
    const keys = events.flatMap(({ key }) => (key === undefined ? [] : [key]));
    const standing = new Map<string, SessionEvent>();
    for (const some of chunked(keys)) {
      const rows = await this.db
        .selectFrom('events')
        .selectAll()
        .where('session_uid', '=', this.record.uid)
        .where('key', 'in', some)
        .execute();
      for (const row of rows) standing.set(row.key ?? '', eventOfRow(this.record.id, row));
    }
    return standing;
  }

  async claimTurn(turn: number, run: TurnRun): Promise<TurnClaim> {
    return claimTurn(this.db, this.record.uid, turn, run);
  }

  async openAttempt(place: Omit<AttemptRef, 'attempt'>, owner: AttemptOwner): Promise<AttemptGrant> {
    return openAttempt(this.db, this.#state, { uid: this.record.uid, place, owner });
  }

  async closeAttempt(ref: AttemptRef): Promise<void> {
    await closeAttempt(this.db, this.record.uid, ref);
  }

  async requireAttempt(ref: AttemptRef): Promise<void> {
    const running = await runningAttempts(this.db, this.record.uid, ref.turn, ref.step);
    if (!running.some(({ call, attempt }) => call === ref.call && attempt === ref.attempt)) throw fenced(ref);
  }

  async runningAttempts(turn: number, step: number): Promise<readonly AttemptRef[]> {
    return runningAttempts(this.db, this.record.uid, turn, step);
  }

  async stage(turn: number, step: number, result: StagedResult): Promise<void> {
    await this.#stage(turn, step, { call: result.index, data: JSON.stringify(result) });
  }

  async staged(turn: number, step: number): Promise<readonly StagedResult[]> {
    const rows = await this.#staged(turn, step);
    return rows
      .filter(({ call }) => call !== PRE_EXECUTED)
      .map(({ data }) => JSON.parse(data) as StagedResult);
  }

  async savePreExecuted(turn: number, step: number, words: readonly (PreExecuted | null)[]): Promise<void> {
    await this.#stage(turn, step, { call: PRE_EXECUTED, data: JSON.stringify(words) });
  }

  async preExecuted(turn: number, step: number): Promise<readonly (PreExecuted | null)[] | null> {
    const row = (await this.#staged(turn, step)).find(({ call }) => call === PRE_EXECUTED);
    return row === undefined ? null : (JSON.parse(row.data) as (PreExecuted | null)[]);
  }

  async #stage(turn: number, step: number, row: { call: number; data: string }): Promise<void> {
    await this.db
      .insertInto('staged')
      .values({ session_uid: this.record.uid, turn, step, ...row })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  #staged(turn: number, step: number): Promise<{ call: number; data: string }[]> {
    return this.db
      .selectFrom('staged')
      .select(['call', 'data'])
      .where('session_uid', '=', this.record.uid)
      .where('turn', '=', turn)
      .where('step', '=', step)
      .orderBy('call')
      .execute();
  }

  async saveBlob(bytes: Uint8Array, mediaType: string): Promise<Sha256> {
    const sha256 = digestOf(bytes);
    await insertBlob(this.db, this.record.uid, { sha256, bytes, mediaType });
    return sha256;
  }

  async readBlob(sha256: Sha256): Promise<StoredBlob | undefined> {
    return selectBlob(this.db, this.record.uid, sha256);
  }

  async blobType(sha256: Sha256): Promise<string | undefined> {
    return selectBlobType(this.db, this.record.uid, sha256);
  }

  async retypeBlob(sha256: Sha256, mediaType: string): Promise<void> {
    await this.db
      .updateTable('blobs')
      .set({ media_type: mediaType })
      .where('session_uid', '=', this.record.uid)
      .where('sha256', '=', sha256)
      .execute();
  }

  async findRequest(scope: string, requestId: RequestId): Promise<RequestRecord | undefined> {
    return findRequest(this.db, scope, requestId);
  }

  async requestOfItem(itemId: ItemId): Promise<RequestRecord | undefined> {
    const row = await this.db
      .selectFrom('requests')
      .selectAll()
      .where('session_uid', '=', this.record.uid)
      .where('item_id', '=', itemId)
      .executeTakeFirst();
    return row === undefined ? undefined : requestOfRow(row);
  }

  async claimRequest(
    scope: string,
    requestId: RequestId,
    request: Omit<RequestRecord, 'uid' | 'turn'>,
  ): Promise<void> {
    await this.db
      .insertInto('requests')
      .values({
        scope,
        request_id: requestId,
        session_uid: this.record.uid,
        body_sha256: request.bodySha256,
        item_id: request.itemId,
        cursor_seq: request.cursorSeq,
        turn: null,
      })
      .execute();
  }

  async countPrompt(key: KeyId, limit: number): Promise<boolean> {
    return countPrompt(this.db, key, { day: this.at.slice(0, 10), limit });
  }

  async addFollowUp(followUp: NewFollowUp): Promise<void> {
    await addFollowUp(this.db, this.record.uid, followUp);
  }

  async settleFollowUp(ref: Omit<FollowUpRef, 'uid'>, outcome: FollowUpOutcome): Promise<void> {
    await settleFollowUp(this.db, { uid: this.record.uid, ...ref }, { outcome, at: this.at });
  }

  async frames(ref: AttemptRef): Promise<readonly Frame[]> {
    return this.outside.frames(ref);
  }
}

/** The claimed request id, if it is. */
export async function findRequest(
  db: Kysely<LogTables>,
  scope: string,
  requestId: RequestId,
): Promise<RequestRecord | undefined> {
  const row = await db
    .selectFrom('requests')
    .selectAll()
    .where('scope', '=', scope)
    .where('request_id', '=', requestId)
    .executeTakeFirst();
  return row === undefined ? undefined : requestOfRow(row);
}

function requestOfRow(row: Selectable<RequestsTable>): RequestRecord {
  return {
    uid: row.session_uid,
    bodySha256: row.body_sha256,
    itemId: row.item_id,
    cursorSeq: row.cursor_seq,
    turn: row.turn,
  };
}

function validated(event: NewEvent): NewEvent {
  if (!isEventType(event.type)) {
    throw new StoreError('INVALID_EVENT', `The catalogue has no event ${String(event.type)}.`);
  }
  const parsed = EVENT_SCHEMAS[event.type].safeParse(event.data);
  if (parsed.success) return { ...event, data: parsed.data } as NewEvent;
  const issue = parsed.error.issues[0];
  throw new StoreError(
    'INVALID_EVENT',
    `An event ${event.type} does not fit the catalogue: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`,
  );
}
