/**
 * Changes of what waits in the inbox: an item is edited, moved or removed inside one transaction on its session, until the
 * very instant of its claim.
 *
 * Owns who comes first, the claim or the change. What a valid content is is checked before, and telling the engine comes
 * after; both are elsewhere.
 */
import type { InputBlock } from '../contract/content.js';
import type { ItemId } from '../contract/ids.js';
import { editItem, findItem, moveItem, removeItem, type WaitingItem } from '../core/inbox.js';
import type { LogTransaction } from './session-store.js';

/** `gone`: there is no such item, or it was removed. */
export type QueuedItem =
  | { readonly kind: 'waiting'; readonly item: WaitingItem }
  | { readonly kind: 'claimed'; readonly turn: number }
  | { readonly kind: 'gone' };

/** Where the item is: it waits, a turn has taken it, or there is none. */
export async function findQueued(transaction: LogTransaction, itemId: ItemId): Promise<QueuedItem> {
  const item = findItem(transaction.state.inbox, itemId);
  if (item !== undefined) return { kind: 'waiting', item };
  const turn = (await transaction.requestOfItem(itemId))?.turn ?? null;
  return turn === null ? { kind: 'gone' } : { kind: 'claimed', turn };
}

export interface ItemChange {
  readonly content?: readonly InputBlock[] | undefined;
  readonly mode?: 'steer' | 'queue' | undefined;
}

/**
 * Changes an item that waits. Returns it as it is then, and the turn that an idle session opened for it, where it is one
 * that wakes from now on.
 */
export async function changeQueued(
  transaction: LogTransaction,
  { entry: { itemId } }: WaitingItem,
  { content, mode }: ItemChange,
): Promise<{ readonly item: WaitingItem; readonly opened: number | null }> {
  const { openTurn: before } = transaction.state;
  if (content !== undefined) await transaction.append([editItem(waiting(transaction, itemId), content)]);
  if (mode !== undefined) {
    await transaction.append(moveItem(transaction.state.inbox, waiting(transaction, itemId), mode));
  }
  const { openTurn: after } = transaction.state;
  return {
    item: waiting(transaction, itemId),
    opened: before === null && after !== null ? after.number : null,
  };
}

/** Removes an item that waits. The turn that it opened, where it did, ends without a model call. */
export async function removeQueued(transaction: LogTransaction, item: WaitingItem): Promise<void> {
  await transaction.append([removeItem(item)]);
}

function waiting({ state }: LogTransaction, itemId: ItemId): WaitingItem {
  const item = findItem(state.inbox, itemId);
  if (item === undefined) throw new Error(`The item ${itemId} does not wait.`);
  return item;
}
