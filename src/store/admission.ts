/**
 * Admission: a prompt enters the log in one transaction, and opens a turn where the session is idle.
 *
 * Owns the request id's promise: the same one with the same body is answered again and never appended again. Starting
 * the workflow comes after and elsewhere (DESIGN, principle 2).
 */
import type { InputBlock } from '../contract/content.js';
import { eventKeys } from '../contract/event-keys.js';
import type { PromptMode } from '../contract/events.js';
import type { ItemId, RequestId, SessionUid } from '../contract/ids.js';
import { claimInput, inboxList, type Inbox } from '../core/inbox.js';
import type { SessionState } from '../core/session-state.js';
import type { LogTransaction, RequestRecord, SessionStore } from './session-store.js';

export interface PromptToAdmit {
  readonly requestId: RequestId;
  readonly itemId: ItemId;
  readonly mode: PromptMode;
  readonly content: readonly InputBlock[];
  /** Digest of the request's body in a canonical form. */
  readonly bodySha256: string;
  readonly timeZone?: string | undefined;
  readonly by?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** Nobody can answer what the turn asks. */
  readonly unattended?: boolean | undefined;
}

export type Admission =
  | {
      readonly kind: 'accepted';
      readonly itemId: ItemId;
      /** The turn that the prompt opened, is in, or null while it waits. */
      readonly turn: number | null;
      /** The place in its own list while it waits, 0 first. */
      readonly position: number | null;
      /** The seq before the prompt's own events. */
      readonly cursorSeq: number;
      readonly duplicate: boolean;
    }
  | { readonly kind: 'request-id-reused' };

/** Admits a prompt. @throws `StoreError` `SESSION_NOT_FOUND`. */
export async function admitPrompt(
  store: SessionStore,
  uid: SessionUid,
  prompt: PromptToAdmit,
): Promise<Admission> {
  return store.transact(uid, (transaction) => admit(transaction, prompt));
}

/** The part of {@link admitPrompt} that runs inside a transaction, for callers that do more in it. */
export async function admit(transaction: LogTransaction, prompt: PromptToAdmit): Promise<Admission> {
  const scope = sessionScope(transaction.record.uid);
  const known = await transaction.findRequest(scope, prompt.requestId);
  if (known !== undefined) {
    if (known.bodySha256 !== prompt.bodySha256) return { kind: 'request-id-reused' };
    const { turn, position } = placeOf(transaction.state, known);
    return {
      kind: 'accepted',
      itemId: known.itemId,
      turn,
      position,
      cursorSeq: known.cursorSeq,
      duplicate: true,
    };
  }
  const before = transaction.state;
  const target = prompt.mode === 'queue' ? 'next-turn' : 'next-step';
  await transaction.append([
    {
      type: 'agent/inbox/spliced',
      key: eventKeys.prompt(prompt.requestId),
      data: {
        target,
        start: inboxList(before.inbox, target).length,
        inserted: [
          {
            itemId: prompt.itemId,
            requestId: prompt.requestId,
            content: [...prompt.content],
            source: {
              kind: 'user',
              requestId: prompt.requestId,
              timeZone: prompt.timeZone,
              by: prompt.by,
            },
            wakes: prompt.mode !== 'inject',
            provider: prompt.provider,
            model: prompt.model,
            ...(prompt.unattended === true ? { unattended: true } : {}),
          },
        ],
      },
    },
  ]);
  await transaction.claimRequest(scope, prompt.requestId, {
    bodySha256: prompt.bodySha256,
    itemId: prompt.itemId,
    cursorSeq: before.headSeq,
  });
  const { state } = transaction;
  const opened = before.openTurn === null ? state.openTurn : null;
  return {
    kind: 'accepted',
    itemId: prompt.itemId,
    turn: opened?.number ?? null,
    position: opened === null ? positionOf(state.inbox, prompt.itemId) : null,
    cursorSeq: before.headSeq,
    duplicate: false,
  };
}

/** The scope in which a session's request ids are unique. */
export function sessionScope(uid: SessionUid): string {
  return `session/${uid}`;
}

/** The scope in which the request ids of a tenant's jobs without a session are unique. */
export function tenantScope(tenant: string): string {
  return `tenant/${tenant}`;
}

function positionOf(inbox: Inbox, itemId: ItemId): number | null {
  for (const list of [inbox.nextStep, inbox.nextTurn]) {
    const position = list.findIndex((entry) => entry.itemId === itemId);
    if (position !== -1) return position;
  }
  return null;
}

/** Where a prompt that was admitted before is now. */
function placeOf(
  state: SessionState,
  request: RequestRecord,
): { turn: number | null; position: number | null } {
  if (request.turn !== null) return { turn: request.turn, position: null };
  const open = state.openTurn;
  // A turn that is not entered yet takes these first, whichever of them opened it.
  const due = open?.started === false ? claimInput(state.inbox, open.number, 1).entries : [];
  return open !== null && due.some((entry) => entry.itemId === request.itemId)
    ? { turn: open.number, position: null }
    : { turn: null, position: positionOf(state.inbox, request.itemId) };
}
