/**
 * The frames of attempts that have not settled: numbers that grow for ever, and what a reader or a settlement asks for.
 *
 * They have a database of their own where the backend gives them one, so nothing here shares a transaction with the log.
 */
import type { Kysely } from 'kysely';
import type { Chunk, Frame } from '../../contract/chunks.js';
import type { SessionUid } from '../../contract/ids.js';
import type { LivePlaces } from '../../core/frames.js';
import type { AttemptRef } from '../session-store.js';
import { frameOfRow } from './rows.js';
import { MODEL_CALL, type FrameTables } from './schema.js';

/** A frame with the seq that the log had when it was stored. */
export type StoredFrame = ReturnType<typeof frameOfRow>;

export class SqlFrames {
  constructor(private readonly db: Kysely<FrameTables>) {}

  /** Stores chunks under the session's next number, and returns it. */
  async append(
    uid: SessionUid,
    ref: AttemptRef,
    frame: { readonly seq: number; readonly index: number; readonly chunks: readonly Chunk[] },
  ): Promise<number> {
    return this.db.transaction().execute(async (db) => {
      const last = await db
        .insertInto('frame_heads')
        .values({ session_uid: uid, frame: 1 })
        .onConflict((conflict) =>
          conflict.column('session_uid').doUpdateSet((set) => ({
            frame: set('frame_heads.frame', '+', 1),
          })),
        )
        .returning('frame')
        .executeTakeFirstOrThrow();
      await db
        .insertInto('frames')
        .values({
          session_uid: uid,
          frame: last.frame,
          seq: frame.seq,
          turn: ref.turn,
          step: ref.step,
          call: ref.call ?? MODEL_CALL,
          attempt: ref.attempt,
          chunk_index: frame.index,
          chunks: JSON.stringify(frame.chunks),
        })
        .execute();
      return last.frame;
    });
  }

  /** The frames of one attempt, in their order. */
  async ofAttempt(uid: SessionUid, ref: AttemptRef): Promise<readonly Frame[]> {
    const rows = await this.db
      .selectFrom('frames')
      .selectAll()
      .where('session_uid', '=', uid)
      .where('turn', '=', ref.turn)
      .where('step', '=', ref.step)
      .where('call', '=', ref.call ?? MODEL_CALL)
      .where('attempt', '=', ref.attempt)
      .orderBy('frame')
      .execute();
    return rows.map((row) => frameOfRow(row).frame);
  }

  /**
   * Live frames after a number, in their order, up to the first one that was stored when the log was beyond `upToSeq`:
   * it belongs after events that the reader does not have, and so do all after it.
   */
  async live(
    uid: SessionUid,
    places: LivePlaces,
    range: { readonly after: number; readonly upToSeq: number; readonly limit: number },
  ): Promise<readonly StoredFrame[]> {
    const { turn, step, modelAttemptsAfter, calls } = places;
    const rows = await this.db
      .selectFrom('frames')
      .selectAll()
      .where('session_uid', '=', uid)
      .where('frame', '>', range.after)
      .where('turn', '=', turn)
      .where('step', '=', step)
      .where((eb) =>
        eb.or([
          ...(modelAttemptsAfter === null
            ? []
            : [eb.and([eb('call', '=', MODEL_CALL), eb('attempt', '>', modelAttemptsAfter)])]),
          ...(calls.length === 0 ? [] : [eb('call', 'in', calls)]),
        ]),
      )
      .orderBy('frame')
      .limit(range.limit)
      .execute();
    const beyond = rows.findIndex((row) => row.seq > range.upToSeq);
    return (beyond === -1 ? rows : rows.slice(0, beyond)).map(frameOfRow);
  }

  /** The session's highest number, 0 before the first. */
  async head(uid: SessionUid): Promise<number> {
    const row = await this.db
      .selectFrom('frame_heads')
      .select('frame')
      .where('session_uid', '=', uid)
      .executeTakeFirst();
    return row?.frame ?? 0;
  }

  /** Drops the frames of the turn's steps up to and with `step`, and what an earlier drop that was lost has left. */
  async drop(uid: SessionUid, turn: number, step: number): Promise<void> {
    await this.db
      .deleteFrom('frames')
      .where('session_uid', '=', uid)
      .where((eb) => eb.or([eb('turn', '<', turn), eb.and([eb('turn', '=', turn), eb('step', '<=', step)])]))
      .execute();
  }

  /** Drops the frames of all turns before this one. */
  async dropTurnsBefore(uid: SessionUid, turn: number): Promise<void> {
    await this.db.deleteFrom('frames').where('session_uid', '=', uid).where('turn', '<', turn).execute();
  }

  /** The sessions that have a number or frames, with the turns of those. */
  async holders(): Promise<
    readonly {
      readonly uid: SessionUid;
      readonly firstTurn: number | null;
      readonly lastTurn: number | null;
    }[]
  > {
    const rows = await this.db
      .selectFrom('frame_heads')
      .leftJoin('frames', 'frames.session_uid', 'frame_heads.session_uid')
      .select(({ fn }) => [
        'frame_heads.session_uid as uid',
        fn.min('frames.turn').as('first_turn'),
        fn.max('frames.turn').as('last_turn'),
      ])
      .groupBy('frame_heads.session_uid')
      .execute();
    return rows.map((row) => ({ uid: row.uid, firstTurn: row.first_turn, lastTurn: row.last_turn }));
  }

  async deleteSession(uid: SessionUid): Promise<void> {
    for (const table of ['frames', 'frame_heads'] as const) {
      await this.db.deleteFrom(table).where('session_uid', '=', uid).execute();
    }
  }
}
