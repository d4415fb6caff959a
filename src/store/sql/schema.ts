/** The tables of the session log as Kysely sees them. Names and columns are the same on every backend. */
import type { Generated } from 'kysely';
import type { FollowUpKind } from '../../contract/follow-up.js';
import type { SessionStatus } from '../../contract/http.js';
import type { PermissionMode } from '../../contract/session.js';
import type {
  ApprovalId,
  ItemId,
  KeyId,
  QuestionId,
  RequestId,
  SessionId,
  SessionUid,
  Sha256,
} from '../../contract/ids.js';
import type { FollowUpOutcome } from '../follow-up-store.js';

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

/**
 * `data` is the event's JSON text, never re-ordered; `envelope` holds surface and sources where there are any; `checksum`
 * tells a row that has changed since it was stored, and is null in rows of versions that had none.
 */
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
  checksum: number | null;
}

/**
 * `owner_run_id` is the workflow run that has the turn, `former_run_ids` a JSON text of those that had it before;
 * `summary` is a JSON text once it has ended.
 */
export interface TurnsTable {
  session_uid: SessionUid;
  turn: number;
  started_at: string;
  ended_at: string | null;
  owner_run_id: string | null;
  former_run_ids: string;
  request_ids: string;
  summary: string | null;
  tenant: string;
  /** When the turn was opened; it is entered later. */
  opened_at: string;
  profile: string;
}

/** The metadata of a session as it is now, one row an entry. */
export interface SessionMetadataTable {
  session_uid: SessionUid;
  key: string;
  value: string;
}

/** `data` is the JSON text of a webhook's target, null where there is none or it is settled. */
export interface FollowUpsTable {
  session_uid: SessionUid;
  turn: number;
  kind: FollowUpKind;
  data: string | null;
  state: 'waiting' | 'due' | FollowUpOutcome;
  attempts: number;
  due_at: string | null;
  done_at: string | null;
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

/** `rights` and `workspace_roots` are JSON texts. The counted prompts are those of `counted_day`, a date of UTC. */
export interface KeysTable {
  id: KeyId;
  name: string;
  tenant: string;
  secret_sha256: string;
  rights: string;
  permission: PermissionMode;
  workspace_roots: string;
  requests_per_minute: number | null;
  prompts_per_day: number | null;
  created_at: string;
  revoked_at: string | null;
  last_used_at: string | null;
  counted_day: string | null;
  counted_prompts: number;
}

/** Sessions that are not there, of which something may be left elsewhere; `due_at`: when it is to be cleared. */
export interface LeftoversTable {
  session_uid: SessionUid;
  due_at: string;
}

/** One row, of `id` 1: when somebody could last work on the turns of this log. */
export interface LivenessTable {
  id: number;
  at: string;
}

export interface LogTables {
  liveness: LivenessTable;
  leftovers: LeftoversTable;
  sessions: SessionsTable;
  events: EventsTable;
  turns: TurnsTable;
  attempts: AttemptsTable;
  staged: StagedTable;
  approvals: ApprovalsTable;
  requests: RequestsTable;
  blobs: BlobsTable;
  keys: KeysTable;
  follow_ups: FollowUpsTable;
  session_metadata: SessionMetadataTable;
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
