/**
 * Admission: a prompt enters the log in one transaction, and opens a turn where the session is idle.
 *
 * Owns the request id's promise: the same one with the same body is answered again and never appended again. Starting
 * the workflow comes after and elsewhere (DESIGN, principle 2).
 */
import type { InputBlock } from '../contract/content.js';
import { eventKeys } from '../contract/event-keys.js';
import type { NewEvent, PromptMode } from '../contract/events.js';
import type { WhenRunning } from '../contract/http.js';
import type { ItemId, RequestId, SessionUid } from '../contract/ids.js';
import { claimInput, findItem, inboxList } from '../core/inbox.js';
import type { JsonSchema, SessionState } from '../core/session-state.js';
import { cancelTurn } from '../core/turn-progress.js';
import type { LogTransaction, RequestRecord, SessionStore } from './session-store.js';

export interface PromptToAdmit {
  readonly requestId: RequestId;
  readonly itemId: ItemId;
  readonly mode: PromptMode;
  /** What becomes of it where a turn is open; default: it waits. `interrupt` belongs to the mode `queue`. */
  readonly whenRunning?: WhenRunning | undefined;
  readonly content: readonly InputBlock[];
  /** Digest of the request's body in a canonical form. */
  readonly bodySha256: string;
  readonly timeZone?: string | undefined;
  readonly by?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** Nobody can answer what the turn asks. */
  readonly unattended?: boolean | undefined;
  /** What the last message of the prompt's turn has to fit. */
  readonly outputSchema?: JsonSchema | undefined;
  /** The title that the session gets where it has none. */
  readonly title?: string | undefined;
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
      /** The turn that the prompt cancelled; null where it left all as it was. */
      readonly interrupted: number | null;
      readonly duplicate: boolean;
    }
  /** A turn is open, and the prompt was not to wait; nothing is stored. */
  | { readonly kind: 'turn-running' }
  | { readonly kind: 'request-id-reused' };

/** Admits a prompt. @throws `StoreError` `SESSION_NOT_FOUND`. */
export async function admitPrompt(
  store: SessionStore,
  uid: SessionUid,
  prompt: PromptToAdmit,
): Promise<Admission> {
  return store.transact(uid, (transaction) => admit(transaction, prompt));
}

/**
 * The answer to a request id that is known already; undefined where it is new. Asked before a prompt is checked: what was
 * accepted once stays accepted, whatever the configuration has become.
 */
export async function admittedBefore(
  transaction: LogTransaction,
  { requestId, bodySha256 }: Pick<PromptToAdmit, 'requestId' | 'bodySha256'>,
): Promise<Extract<Admission, { readonly kind: 'accepted' | 'request-id-reused' }> | undefined> {
  const known = await transaction.findRequest(sessionScope(transaction.record.uid), requestId);
  if (known === undefined) return undefined;
  if (known.bodySha256 !== bodySha256) return { kind: 'request-id-reused' };
  return {
    kind: 'accepted',
    itemId: known.itemId,
    ...placeOf(transaction.state, known),
    cursorSeq: known.cursorSeq,
    interrupted: null,
    duplicate: true,
  };
}

/** The part of {@link admitPrompt} that runs inside a transaction, for callers that do more in it. */
export async function admit(transaction: LogTransaction, prompt: PromptToAdmit): Promise<Admission> {
  const known = await admittedBefore(transaction, prompt);
  if (known !== undefined) return known;
  const { openTurn, headSeq } = transaction.state;
  if (openTurn !== null && prompt.whenRunning === 'reject') return { kind: 'turn-running' };
  const interrupts = openTurn !== null && prompt.whenRunning === 'interrupt';
  if (interrupts) {
    // The cancel comes first: a turn that is not entered yet takes its own prompt by it, and so never this one.
    const wish = { by: prompt.by ?? 'local', cause: 'interrupt' };
    await transaction.append(cancelTurn(openTurn, transaction.state.inbox, wish));
  }
  const target = prompt.mode === 'queue' ? 'next-turn' : 'next-step';
  await transaction.append([
    {
      type: 'agent/inbox/spliced',
      key: eventKeys.prompt(prompt.requestId),
      data: {
        target,
        start: interrupts ? 0 : inboxList(transaction.state.inbox, target).length,
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
            ...(prompt.outputSchema === undefined ? {} : { outputSchema: prompt.outputSchema }),
          },
        ],
      },
    },
    ...firstTitle(transaction.state, prompt.title),
  ]);
  await transaction.claimRequest(sessionScope(transaction.record.uid), prompt.requestId, {
    bodySha256: prompt.bodySha256,
    itemId: prompt.itemId,
    cursorSeq: headSeq,
  });
  const { state } = transaction;
  const opened = openTurn === null ? state.openTurn : null;
  return {
    kind: 'accepted',
    itemId: prompt.itemId,
    turn: opened?.number ?? null,
    position: opened === null ? positionOf(state, prompt.itemId) : null,
    cursorSeq: headSeq,
    interrupted: interrupts ? openTurn.number : null,
    duplicate: false,
  };
}

function firstTitle({ titleSource }: SessionState, title: string | undefined): NewEvent[] {
  return title === undefined || titleSource !== null
    ? []
    : [
        {
          type: 'session/title',
          key: eventKeys.sessionTitle('fallback'),
          data: { title, source: 'fallback' },
        },
      ];
}

/** The scope in which a session's request ids are unique. */
export function sessionScope(uid: SessionUid): string {
  return `session/${uid}`;
}

/** The scope in which the request ids of a tenant's jobs without a session are unique. */
export function tenantScope(tenant: string): string {
  return `tenant/${tenant}`;
}

function positionOf({ inbox }: SessionState, itemId: ItemId): number | null {
  return findItem(inbox, itemId)?.position ?? null;
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
    : { turn: null, position: positionOf(state, request.itemId) };
}
