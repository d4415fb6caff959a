/** The typed client of the HTTP API (CONTRACT). Runs in browsers and in Node.js. */
import type { EventType, SessionEvent } from '../contract/events.js';
import type {
  BlobAnswer,
  CancelAnswer,
  ImportedSession,
  ModelResource,
  Page,
  PromptAnswer,
  QueueItem,
  Readiness,
  SessionPatch,
  SessionResource,
  SessionStatus,
  TurnResource,
  TurnStatusName,
  jobBodySchema,
  promptBodySchema,
  queuePatchSchema,
  sessionBodySchema,
} from '../contract/http.js';
import type {
  ApprovalResource,
  DecisionBody,
  DecisionsAnswer,
  QuestionResource,
  answersBodySchema,
} from '../contract/http-asks.js';
import type { Message } from '../contract/messages.js';
import type { z } from 'zod';
import { followTenant, type FollowTenantOptions, type TenantItem } from './follow-tenant.js';
import { follow, type FollowItem, type FollowOptions } from './follow.js';
import { createSend, jsonOf, type ConnectionOptions, type Upload } from './request.js';

/** Bodies as callers write them: ids are plain strings, what has a default may be left out. */
type Plain<T> = T extends string
  ? T extends string & z.$brand
    ? string
    : T
  : T extends object
    ? { [K in keyof T]: Plain<T[K]> }
    : T;
export type NewSession = Plain<z.input<typeof sessionBodySchema>>;
export type NewPrompt = Plain<z.input<typeof promptBodySchema>>;
export type QueueChange = Plain<z.input<typeof queuePatchSchema>>;
export type NewJob = Plain<z.input<typeof jobBodySchema>>;

export type NewDecision = DecisionBody;
export type NewAnswers = z.input<typeof answersBodySchema>;

export interface PageOptions {
  readonly limit?: number;
  readonly cursor?: string;
}

/** How a file becomes a session. */
export interface ImportOptions {
  /** Default: the one in the file. */
  readonly id?: string;
  /** Default: a fresh folder. */
  readonly workspace?: string;
  /** Opens a file that was cut or damaged up to where it is whole. */
  readonly repair?: boolean;
}

/** Which approvals or questions a list has; default: the open ones of all sessions. */
export interface AskListOptions extends PageOptions {
  readonly status?: 'open' | 'closed' | 'all';
  readonly session?: string;
}

/** Which turns a list has; what is left out is not asked. */
export interface TurnListOptions extends PageOptions {
  readonly status?: TurnStatusName;
  readonly profile?: string;
  /** Started at this time or later, ISO 8601. */
  readonly since?: string;
  /** Started before this time. */
  readonly until?: string;
  /** Entries that the session's metadata has. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Every call throws `ApiError` for a problem and `ConnectionError` where the server cannot be reached. */
export interface Client {
  createSession(session?: NewSession): Promise<SessionResource>;
  listSessions(options?: PageOptions & { readonly status?: SessionStatus }): Promise<Page<SessionResource>>;
  session(id: string): Promise<SessionResource>;
  updateSession(id: string, patch: SessionPatch): Promise<SessionResource>;
  /** With `unchangedSince` (ISO 8601) refused as `SESSION_CHANGED` where a turn is open or anything was done since. */
  deleteSession(id: string, options?: { readonly unchangedSince?: string }): Promise<void>;
  /** The session as one file that {@link Client.importSession} takes, as it is sent. */
  exportSession(id: string): Promise<ReadableStream<Uint8Array>>;
  /** Makes a session of a file; `FILE_DAMAGED` where it is not whole, unless it is to be repaired. */
  importSession(file: Upload, options?: ImportOptions): Promise<ImportedSession>;
  /** Give a `requestId` to be able to send it again after a `ConnectionError` without asking twice. */
  prompt(sessionId: string, prompt: NewPrompt): Promise<PromptAnswer>;
  /** Edits a prompt that waits, makes it a steer or a queued one, or both. `ALREADY_CLAIMED` where a turn has taken it. */
  changeQueued(sessionId: string, itemId: string, change: QueueChange): Promise<QueueItem>;
  removeQueued(sessionId: string, itemId: string): Promise<void>;
  /** Stores bytes that a prompt's `image` and `file` blocks can name; text is UTF-8. */
  uploadBlob(sessionId: string, data: Uint8Array | Blob, mediaType: string): Promise<BlobAnswer>;
  cancel(sessionId: string, options?: { readonly cause?: string }): Promise<CancelAnswer>;
  cancelTurn(sessionId: string, turn: number, options?: { readonly cause?: string }): Promise<CancelAnswer>;
  turns(sessionId: string, options?: TurnListOptions): Promise<Page<TurnResource>>;
  /** The turns of all sessions, newest first. */
  allTurns(options?: TurnListOptions): Promise<Page<TurnResource>>;
  /** The turn as it is, or at its end where that comes within `waitSeconds` (at most 300). */
  turn(sessionId: string, turn: number, options?: { readonly waitSeconds?: number }): Promise<TurnResource>;
  /** Runs a job; `waitSeconds` as for {@link Client.turn}. */
  runTurn(job: NewJob, options?: { readonly waitSeconds?: number }): Promise<TurnResource>;
  /** Newest first. */
  approvals(options?: AskListOptions): Promise<Page<ApprovalResource>>;
  approval(id: string): Promise<ApprovalResource>;
  /** The first decision stands: the same again is answered with it, the opposite is refused with `APPROVAL_DECIDED`. */
  decideApproval(id: string, decision: NewDecision): Promise<ApprovalResource>;
  /** At most 1000; each is answered on its own, in their order. */
  decideApprovals(body: {
    readonly decisions: readonly (NewDecision & { readonly approvalId: string })[];
  }): Promise<DecisionsAnswer>;
  /** Newest first. */
  questions(options?: AskListOptions): Promise<Page<QuestionResource>>;
  question(id: string): Promise<QuestionResource>;
  /** As {@link Client.decideApproval}. */
  answerQuestion(id: string, body: NewAnswers): Promise<QuestionResource>;
  events(
    sessionId: string,
    options?: {
      readonly after?: number;
      readonly before?: number;
      readonly limit?: number;
      readonly types?: readonly EventType[];
    },
  ): Promise<Page<SessionEvent, number>>;
  messages(sessionId: string, options?: PageOptions): Promise<Page<Message>>;
  blob(sessionId: string, sha256: string): Promise<Uint8Array>;
  models(): Promise<Page<ModelResource>>;
  /** Also answers while the server is not ready. */
  readiness(): Promise<Readiness>;
  /** The session's events and frames, each once and in order, across broken connections; see `follow.ts`. */
  follow(sessionId: string, options?: FollowOptions): AsyncGenerator<FollowItem, void, void>;
  /** What changes in all sessions, without content, across broken connections; see `follow-tenant.ts`. */
  followTenant(options?: FollowTenantOptions): AsyncGenerator<TenantItem, void, void>;
}

/** Makes a client of one server. */
export function createClient(options: ConnectionOptions): Client {
  const send = createSend(options);
  const path = (...parts: (string | number)[]) =>
    `/v1/${parts.map((part) => encodeURIComponent(String(part))).join('/')}`;
  const get = <T>(where: string, query: Parameters<typeof send>[1] = {}) => jsonOf<T>(send(where, query));
  const post = <T>(where: string, body: unknown, query: Record<string, number | undefined> = {}) =>
    jsonOf<T>(send(where, { method: 'POST', body, query }));

  return {
    createSession: (session = {}) => post(path('sessions'), session),
    listSessions: ({ limit, cursor, status } = {}) =>
      get(path('sessions'), { query: { limit, cursor, status } }),
    session: (id) => get(path('sessions', id)),
    updateSession: (id, patch) => jsonOf(send(path('sessions', id), { method: 'PATCH', body: patch })),
    deleteSession: async (id, { unchangedSince } = {}) => {
      await send(path('sessions', id), { method: 'DELETE', query: { unchangedSince } });
    },
    exportSession: async (id) => {
      const { body } = await send(path('sessions', id, 'export'), { headers: { accept: '*/*' } });
      return body ?? new ReadableStream();
    },
    importSession: (data, { id, workspace, repair } = {}) =>
      jsonOf(
        send(path('sessions', 'import'), {
          method: 'POST',
          query: { id, workspace, repair: repair === true ? 'true' : undefined },
          bytes: { data, mediaType: 'application/x-ndjson' },
        }),
      ),
    prompt: (id, prompt) => post(path('sessions', id, 'prompts'), prompt),
    changeQueued: (id, itemId, change) =>
      jsonOf(send(path('sessions', id, 'queue', itemId), { method: 'PATCH', body: change })),
    removeQueued: async (id, itemId) => {
      await send(path('sessions', id, 'queue', itemId), { method: 'DELETE' });
    },
    uploadBlob: (id, data, mediaType) =>
      jsonOf(send(path('sessions', id, 'blobs'), { method: 'POST', bytes: { data, mediaType } })),
    cancel: (id, body = {}) => post(path('sessions', id, 'cancel'), body),
    cancelTurn: (id, turn, body = {}) => post(path('sessions', id, 'turns', turn, 'cancel'), body),
    turns: (id, list) => get(path('sessions', id, 'turns'), { query: turnQuery(list) }),
    allTurns: (list) => get(path('turns'), { query: turnQuery(list) }),
    turn: (id, turn, { waitSeconds } = {}) =>
      get(path('sessions', id, 'turns', turn), { query: { wait: waitSeconds } }),
    runTurn: (job, { waitSeconds } = {}) => post(path('turns'), job, { wait: waitSeconds }),
    approvals: ({ limit, cursor, status, session } = {}) =>
      get(path('approvals'), { query: { limit, cursor, status, session } }),
    approval: (id) => get(path('approvals', id)),
    decideApproval: (id, decision) => post(path('approvals', id), decision),
    decideApprovals: (body) => post(path('approvals'), body),
    questions: ({ limit, cursor, status, session } = {}) =>
      get(path('questions'), { query: { limit, cursor, status, session } }),
    question: (id) => get(path('questions', id)),
    answerQuestion: (id, body) => post(path('questions', id), body),
    events: (id, { after, before, limit, types } = {}) =>
      get(path('sessions', id, 'events'), { query: { after, before, limit, types: types?.join(',') } }),
    messages: (id, { limit, cursor } = {}) =>
      get(path('sessions', id, 'messages'), { query: { limit, cursor } }),
    blob: async (id, sha256) => {
      const response = await send(path('sessions', id, 'blobs', sha256), { headers: { accept: '*/*' } });
      return new Uint8Array(await response.arrayBuffer());
    },
    models: () => get(path('models')),
    readiness: () => jsonOf(send('/readyz', { expectedStatus: 503 })),
    follow: (id, followOptions = {}) => follow(send, path('sessions', id, 'events'), followOptions),
    followTenant: (followOptions = {}) => followTenant(send, path('events'), followOptions),
  };
}

function turnQuery({ metadata = {}, ...options }: TurnListOptions = {}) {
  const entries = Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]);
  return { ...options, ...(Object.fromEntries(entries) as Record<string, string>) };
}
