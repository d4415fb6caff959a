/**
 * The inbox: two lists of prompts, folded from `agent/inbox/spliced`.
 *
 * Owns the lists, the rule of what a step claims, and how an item that waits is changed. Does not decide when a turn opens:
 * see `session-state.ts`.
 */
import type { InputBlock } from '../contract/content.js';
import { type EventOf, type InboxItem, type InboxTarget, type NewEvent } from '../contract/events.js';
import { eventKeys } from '../contract/event-keys.js';
import type { ItemId } from '../contract/ids.js';

/** An item with where it stands in the log; `changes` counts its edits and moves. */
export interface InboxEntry extends InboxItem {
  readonly at: string;
  readonly changes: number;
}

export interface Inbox {
  readonly nextTurn: readonly InboxEntry[];
  readonly nextStep: readonly InboxEntry[];
}

export const EMPTY_INBOX: Inbox = Object.freeze({ nextTurn: [], nextStep: [] });

const listOf = { 'next-turn': 'nextTurn', 'next-step': 'nextStep' } as const satisfies Record<
  InboxTarget,
  keyof Inbox
>;

/** The items of a list, in the order in which they are claimed. */
export function inboxList(inbox: Inbox, target: InboxTarget): readonly InboxEntry[] {
  return inbox[listOf[target]];
}

/** The inbox after a splice. Items that were edited or moved keep the time at which they came. */
export function evolveInbox(inbox: Inbox, event: EventOf<'agent/inbox/spliced'>): Inbox {
  const { target, start, removed = [], inserted = [], outcome } = event.data;
  const known = new Map([...inbox.nextTurn, ...inbox.nextStep].map((entry) => [entry.itemId, entry]));
  const entries = inserted.map((item): InboxEntry => {
    const before = known.get(item.itemId);
    return { ...item, at: before?.at ?? event.at, changes: before === undefined ? 0 : before.changes + 1 };
  });
  const gone = new Set(removed);
  // A move names the item in the list that it enters; it leaves the other one by the same event.
  const moved = new Set(outcome === 'moved' ? inserted.map((item) => item.itemId) : []);
  const without = (list: readonly InboxEntry[], ids: ReadonlySet<string>) =>
    ids.size === 0 ? list : list.filter((entry) => !ids.has(entry.itemId));
  const changed = without(inboxList(inbox, target), gone);
  const other: InboxTarget = target === 'next-turn' ? 'next-step' : 'next-turn';
  const lists = {
    [listOf[target]]: [...changed.slice(0, start), ...entries, ...changed.slice(start)],
    [listOf[other]]: without(inboxList(inbox, other), moved),
  } as unknown as Inbox;
  return lists;
}

/** Whether an idle session opens a turn for what is in the inbox. */
export function inboxWakes(inbox: Inbox): boolean {
  return [...inbox.nextStep, ...inbox.nextTurn].some((entry) => entry.wakes);
}

/** What a step takes from the inbox, and the events that take it. */
export interface Claim {
  readonly entries: readonly InboxEntry[];
  readonly events: readonly NewEvent[];
}

/**
 * All of next-step and, where the step opens its turn, exactly one of next-turn; next-step first.
 */
export function claimInput(inbox: Inbox, turn: number, step: number): Claim {
  const fromStep = inbox.nextStep;
  const fromTurn = step === 1 ? inbox.nextTurn.slice(0, 1) : [];
  const splice = (target: InboxTarget, entries: readonly InboxEntry[]): NewEvent[] =>
    entries.length === 0
      ? []
      : [
          {
            type: 'agent/inbox/spliced',
            key: eventKeys.claim(turn, step, target),
            turn,
            data: { target, start: 0, removed: entries.map((entry) => entry.itemId), outcome: 'claimed' },
          },
        ];
  return {
    entries: [...fromStep, ...fromTurn],
    events: [...splice('next-step', fromStep), ...splice('next-turn', fromTurn)],
  };
}

/** An item that waits, and where: `position` counts in its own list. */
export interface WaitingItem {
  readonly entry: InboxEntry;
  readonly target: InboxTarget;
  readonly position: number;
}

/** Where the item waits; undefined where it does not. */
export function findItem(inbox: Inbox, itemId: ItemId): WaitingItem | undefined {
  for (const target of ['next-step', 'next-turn'] as const) {
    const list = inboxList(inbox, target);
    const position = list.findIndex((entry) => entry.itemId === itemId);
    const entry = list[position];
    if (entry !== undefined) return { entry, target, position };
  }
  return undefined;
}

/** The item with other content, in its place. */
export function editItem(item: WaitingItem, content: readonly InputBlock[]): NewEvent {
  return replaced(item, { content: [...content] }, 'edited');
}

/**
 * The item as a prompt of that mode, behind those that wait already; nothing where it is one. An injected item that is
 * made a steer keeps its place and wakes from now on.
 */
export function moveItem(inbox: Inbox, item: WaitingItem, mode: 'steer' | 'queue'): NewEvent[] {
  const target: InboxTarget = mode === 'steer' ? 'next-step' : 'next-turn';
  if (target === item.target) return item.entry.wakes ? [] : [replaced(item, { wakes: true }, 'moved')];
  return [
    {
      type: 'agent/inbox/spliced',
      key: changeKey(item),
      data: {
        target,
        start: inboxList(inbox, target).length,
        inserted: [{ ...itemOf(item.entry), wakes: true }],
        outcome: 'moved',
      },
    },
  ];
}

/** The item's removal. */
export function removeItem(item: WaitingItem): NewEvent {
  const { entry, target, position } = item;
  return {
    type: 'agent/inbox/spliced',
    key: changeKey(item),
    data: { target, start: position, removed: [entry.itemId], outcome: 'canceled' },
  };
}

function replaced(item: WaitingItem, changes: Partial<InboxItem>, outcome: 'edited' | 'moved'): NewEvent {
  const { entry, target, position } = item;
  return {
    type: 'agent/inbox/spliced',
    key: changeKey(item),
    data: {
      target,
      start: position,
      removed: [entry.itemId],
      inserted: [{ ...itemOf(entry), ...changes }],
      outcome,
    },
  };
}

function changeKey({ entry }: WaitingItem): string {
  return eventKeys.item(entry.itemId, entry.changes + 1);
}

/** The item without its place in the log. */
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- Named to be left out, whatever else an item has.
function itemOf({ at, changes, ...item }: InboxEntry): InboxItem {
  return item;
}
