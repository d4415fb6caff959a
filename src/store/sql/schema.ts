/** The tables of the session log as Kysely sees them. Names and columns are the same on every backend. */
import type { Generated } from 'kysely';
import type { SessionStatus } from '../../contract/http.js';
import type {
  ApprovalId,
  ItemId,
  QuestionId,
  RequestId,
  SessionId,
  SessionUid,
  Sha256,
} from '../../contract/ids.js';

export interface SessionsTable {
  uid: SessionUid;
  id: SessionId;
  tenant: string;
  body_sha256: string;
  created_at: string;
  updated_at: string;
  open_turn: number | null;
  cancel_requested: number;
  status: SessionStatus;
  head_seq: number;
}

/** `data` is the event's JSON text, never re-ordered; `envelope` holds surface and sources where there are any. */
export interface EventsTable {
  session_uid: SessionUid;
  seq: number;
  type: string;
  turn: number | null;
  step: number | null;
  key: string | null;
  at: string;
  envelope: string | null;
  data: string;
}

/** `owner_*` name the workflow run that has the turn; `summary` is a JSON text once it has ended. */
export interface TurnsTable {
  session_uid: SessionUid;
  turn: number;
  started_at: string;
  ended_at: string | null;
  owner_run_id: string | null;
  owner_started_at: number | null;
  request_ids: string;
  summary: string | null;
}

/** `call` is -1 for the model. */
export interface AttemptsTable {
  session_uid: SessionUid;
  turn: number;
  step: number;
  call: number;
  attempt: number;
  run_id: string;
  activity_id: string;
  engine_attempt: number;
  state: 'running' | 'closed' | 'lost';
}

export interface StagedTable {
  session_uid: SessionUid;
  turn: number;
  step: number;
  call: number;
  data: string;
}

/** The approvals and questions of all sessions; a UUIDv7 as id sorts by the time of asking. */
export interface ApprovalsTable {
  id: ApprovalId | QuestionId;
  kind: 'approval' | 'question';
  session_uid: SessionUid;
  tenant: string;
  turn: number;
  step: number;
  asked_seq: number;
  closed_seq: number | null;
}

export interface RequestsTable {
  scope: string;
  request_id: RequestId;
  session_uid: SessionUid;
  body_sha256: string;
  item_id: ItemId;
  cursor_seq: number;
  turn: number | null;
}

export interface BlobsTable {
  session_uid: SessionUid;
  sha256: Sha256;
  media_type: string;
  bytes: Uint8Array;
}

export interface LogTables {
  sessions: SessionsTable;
  events: EventsTable;
  turns: TurnsTable;
  attempts: AttemptsTable;
  staged: StagedTable;
  approvals: ApprovalsTable;
  requests: RequestsTable;
  blobs: BlobsTable;
}

/** `seq` is the log's head when the frame was stored; `call` is -1 for the model. */
export interface FramesTable {
  session_uid: SessionUid;
  frame: number;
  seq: number;
  turn: number;
  step: number;
  call: number;
  attempt: number;
  chunk_index: number;
  chunks: string;
}

/** The last frame number of a session, which only grows. */
export interface FrameHeadsTable {
  session_uid: SessionUid;
  frame: Generated<number>;
}

export interface FrameTables {
  frames: FramesTable;
  frame_heads: FrameHeadsTable;
}

/** The `call` column of what the pre-execute hooks said, among the staged results of a step. */
export const PRE_EXECUTED = -1;

/** The `call` column of the model's own attempts and frames. */
export const MODEL_CALL = -1;
