/** Between rows and values: events, sessions and turns. Owns that corrupt rows are told from unsupported ones. */
import { crc32 } from 'node:zlib';
import type { Insertable, Selectable } from 'kysely';
import { isEventType, type NewEvent, type SessionEvent } from '../../contract/events.js';
import type { RequestId, SessionId } from '../../contract/ids.js';
import type { Frame } from '../../contract/chunks.js';
import { ZERO_USAGE } from '../../contract/usage.js';
import { StoreError, type AskRecord, type SessionRecord, type TurnRecord } from '../session-store.js';
import {
  MODEL_CALL,
  type ApprovalsTable,
  type EventsTable,
  type FramesTable,
  type SessionsTable,
  type TurnsTable,
} from './schema.js';

/** The event of a row. @throws `StoreError` `LOG_CORRUPT` or `LOG_UNSUPPORTED`, naming the seq. */
export function eventOfRow(sessionId: SessionId, row: Selectable<EventsTable>): SessionEvent {
  const where = `Event ${String(row.seq)} of session ${sessionId}`;
  if (row.checksum !== null && row.checksum !== checksumOf(row)) {
    throw new StoreError('LOG_CORRUPT', `${where} is not as it was stored: the log is damaged there.`);
  }
  const data = parseObject(row.data, where);
  if (!isEventType(row.type) && !isIgnorable(data)) {
    throw new StoreError(
      'LOG_UNSUPPORTED',
      `${where} has the type "${row.type}", which this version does not know. Use the version that wrote it.`,
    );
  }
  const envelope = row.envelope === null ? {} : parseObject(row.envelope, where);
  return {
    sessionId,
    seq: row.seq,
    type: row.type,
    at: row.at,
    ...(row.turn === null ? {} : { turn: row.turn }),
    ...(row.step === null ? {} : { step: row.step }),
    ...envelope,
    data,
  } as SessionEvent;
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StoreError('LOG_CORRUPT', `${where} is no JSON: the log is damaged there.`, { cause });
  }
}

function parseObject(text: string, where: string): object {
  const value = parseJson(text, where);
  if (typeof value === 'object' && value !== null) return value;
  throw new StoreError('LOG_CORRUPT', `${where} is no JSON object: the log is damaged there.`);
}

function isIgnorable(data: object): boolean {
  return 'ignorable' in data && data.ignorable === true;
}

/** The row of an event that is about to be stored. */
export function rowOfEvent(
  event: NewEvent,
  place: { readonly uid: EventsTable['session_uid']; readonly seq: number; readonly at: string },
): Insertable<EventsTable> {
  const envelope = {
    ...(event.surface === undefined ? {} : { surface: event.surface }),
    ...(event.sources === undefined ? {} : { sources: event.sources }),
  };
  const row = {
    session_uid: place.uid,
    seq: place.seq,
    type: event.type,
    turn: event.turn ?? null,
    step: event.step ?? null,
    key: event.key ?? null,
    at: place.at,
    envelope: Object.keys(envelope).length === 0 ? null : JSON.stringify(envelope),
    data: JSON.stringify(event.data),
  };
  return { ...row, checksum: checksumOf(row) };
}

/** CRC-32 over all that a row says, as a signed number: no database sees by itself that a letter has changed. */
function checksumOf(row: Omit<Selectable<EventsTable>, 'checksum'>): number {
  const { session_uid: uid, seq, type, turn, step, key, at, envelope, data } = row;
  return crc32(JSON.stringify([uid, seq, type, turn, step, key, at, envelope, data])) | 0;
}

export function sessionOfRow(row: Selectable<SessionsTable>): SessionRecord {
  return {
    uid: row.uid,
    id: row.id,
    tenant: row.tenant,
    bodySha256: row.body_sha256,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    openTurn: row.open_turn,
    headSeq: row.head_seq,
    status: row.status,
  };
}

/** What `turns.summary` holds once a turn has ended. */
export type TurnSummary = Pick<TurnRecord, 'reason' | 'output' | 'structured' | 'usage' | 'steps'>;

export function turnOfRow(row: Selectable<TurnsTable> & { readonly session_id: SessionId }): TurnRecord {
  const where = `The row of turn ${String(row.turn)} of session ${row.session_id}`;
  const summary = row.summary === null ? undefined : (parseObject(row.summary, where) as TurnSummary);
  return {
    uid: row.session_uid,
    sessionId: row.session_id,
    turn: row.turn,
    ended: summary !== undefined,
    requestIds: parseJson(row.request_ids, where) as RequestId[],
    openedAt: row.opened_at,
    startedAt: row.started_at,
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    ...(summary ?? { usage: ZERO_USAGE, steps: 0 }),
  };
}

export function askOfRow(row: Selectable<ApprovalsTable> & { readonly session_id: SessionId }): AskRecord {
  return {
    id: row.id,
    kind: row.kind,
    uid: row.session_uid,
    sessionId: row.session_id,
    turn: row.turn,
    step: row.step,
    askedSeq: row.asked_seq,
    closedSeq: row.closed_seq,
  };
}

export function frameOfRow(row: Selectable<FramesTable>): { readonly seq: number; readonly frame: Frame } {
  return {
    seq: row.seq,
    frame: {
      frame: row.frame,
      turn: row.turn,
      step: row.step,
      attempt: row.attempt,
      ...(row.call === MODEL_CALL ? {} : { call: row.call }),
      index: row.chunk_index,
      chunks: parseJson(
        row.chunks,
        `Frame ${String(row.frame)} of session ${row.session_uid}`,
      ) as Frame['chunks'],
    },
  };
}
