/**
 * Makes the API's objects from what the store has: rows and folded states in, resources of the contract out.
 *
 * Pure but for reading a turn's output that was moved to the blob store.
 */
import type { Profile } from '../contract/configuration.js';
import type {
  QueueItem,
  SessionResource,
  StreamState,
  TurnResource,
  TurnStatusName,
} from '../contract/http.js';
import { claimInput, type Inbox, type InboxEntry, type WaitingItem } from '../core/inbox.js';
import { DEFAULT_PROFILE_NAME, profileInForce } from '../core/profile-in-force.js';
import { sessionStatus, type OpenTurn, type SessionState } from '../core/session-state.js';
import { turnLimits } from '../core/turn-limits.js';
import { endedTurnResource } from '../store/ended-turn.js';
import type { SessionRecord, SessionStore } from '../store/session-store.js';

/** A session, with what its profile decides where it asked for nothing itself. */
export function sessionResource(
  record: SessionRecord,
  state: SessionState,
  profiles: ReadonlyMap<string, Profile>,
): SessionResource {
  const { settings } = state;
  const profile = profileInForce(profiles, settings?.profile);
  return {
    id: record.id,
    title: state.title,
    status: sessionStatus(state),
    turn: state.openTurn?.number ?? null,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    workspace: settings?.workspace ?? '',
    profile: settings?.profile ?? DEFAULT_PROFILE_NAME,
    provider: settings?.provider ?? profile.provider,
    model: settings?.model ?? profile.model,
    permission: settings?.permission ?? profile.permission,
    limits: turnLimits(profile.limits, settings?.limits),
    queue: queueOf(state.inbox),
    approvals: state.approvals.length,
    usage: state.usage,
    headSeq: state.headSeq,
    metadata: settings?.metadata ?? {},
  };
}

/** What waits, in the order in which it is claimed; each position counts in its own list. */
function queueOf(inbox: Inbox): QueueItem[] {
  const items = (entries: readonly InboxEntry[], target: QueueItem['target']) =>
    entries.map((entry, position) => queueItem({ entry, target, position }));
  return [...items(inbox.nextStep, 'next-step'), ...items(inbox.nextTurn, 'next-turn')];
}

/** An item that waits. */
export function queueItem({ entry, target, position }: WaitingItem): QueueItem {
  const { itemId, requestId, content, at } = entry;
  return { itemId, requestId, target, content: [...content], at, position };
}

/** What a follower is told of a session as it is now. The attempt is the one that runs or comes next. */
export function streamState(state: SessionState, isEngineUp: boolean): StreamState {
  const turn = state.openTurn;
  const step = turn?.step ?? null;
  return {
    status: sessionStatus(state),
    turn: turn?.number ?? null,
    ...(step === null ? {} : { step: step.number, attempt: step.message?.attempt ?? step.lastAttempt + 1 }),
    ...(step?.retryAt == null ? {} : { retryAt: step.retryAt }),
    approvals: state.approvals.length + state.questions.length,
    queue: state.inbox.nextStep.length + state.inbox.nextTurn.length,
    engine: isEngineUp ? 'up' : 'down',
  };
}

type TurnStore = Pick<SessionStore, 'findTurn' | 'readState' | 'readBlob'>;

/** The turn of a number as it is now; undefined where the session has none. */
export async function readTurn(
  store: TurnStore,
  session: Pick<SessionRecord, 'uid' | 'id'>,
  turn: number,
): Promise<TurnResource | undefined> {
  const ended = await store.findTurn(session.uid, turn);
  if (ended?.ended === true) return endedTurnResource(store, ended);
  const state = await store.readState(session.uid);
  if (state.openTurn?.number === turn) return openTurnResource(session, state, state.openTurn);
  // It ended between the two reads, or has never been.
  const now = await store.findTurn(session.uid, turn);
  return now?.ended === true ? endedTurnResource(store, now) : undefined;
}

/** A turn that goes on. */
export function openTurnResource(
  session: Pick<SessionRecord, 'id'>,
  state: SessionState,
  turn: OpenTurn,
): TurnResource {
  const status = sessionStatus(state);
  const retryAt = turn.step?.retryAt ?? null;
  return {
    sessionId: session.id,
    turn: turn.number,
    status: turnStatus(status),
    usage: turn.usage,
    steps: turn.steps,
    // Until it is entered, the inbox says what it will take.
    requestIds: turn.started
      ? [...turn.requestIds]
      : claimInput(state.inbox, turn.number, 1).entries.map((entry) => entry.requestId),
    startedAt: turn.startedAt,
    ...(retryAt === null ? {} : { retryAt }),
    approvals: state.approvals.map(({ approvalId }) => approvalId),
  };
}

function turnStatus(status: SessionResource['status']): TurnStatusName {
  return status === 'idle' ? 'running' : status;
}
