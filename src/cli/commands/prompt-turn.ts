/** Follows one prompt from its acceptance to the end of its turn, also where its server ends and another takes over. */
import type { FollowItem } from '../../client/follow.js';
import type { PromptAnswer, TurnResource } from '../../contract/http.js';
import type { Connection } from '../connect.js';

/** How the prompt's way ended: with its turn, or by its removal from the queue. */
export type PromptEnd =
  { readonly kind: 'ended'; readonly turn: TurnResource } | { readonly kind: 'removed' };

export interface PromptTurnOptions {
  readonly signal: AbortSignal;
  /** Told of every item, in order and each once. */
  readonly onItem: (item: FollowItem) => Promise<void>;
  /** Told once the prompt's turn is known. */
  readonly onTurn: (turn: number) => void;
  /** Told of breaks of the connection. */
  readonly onDisconnect: (error: unknown) => void;
  /** Another connection in the place of one whose server is gone. */
  readonly reconnect: () => Promise<Connection>;
}

/** The reason by which a follow is ended when its server is gone for good. */
class ServerGone extends Error {
  override readonly name = 'ServerGone';
}

/** Follows until the prompt's turn has ended. @throws `ApiError`, or the signal's reason. */
export async function followPrompt(
  connection: Connection,
  prompt: PromptAnswer,
  options: PromptTurnOptions,
): Promise<PromptEnd> {
  let server = connection;
  let after = prompt.cursor;
  let turn = prompt.turn;
  if (turn !== null) options.onTurn(turn);
  for (;;) {
    const gone = new AbortController();
    const items = server.client.follow(prompt.sessionId, {
      after,
      signal: AbortSignal.any([options.signal, gone.signal]),
      onDisconnect: (error) => {
        if (server.isGone()) gone.abort(new ServerGone());
        else options.onDisconnect(error);
      },
      ...(turn === null ? {} : { until: 'turn-end', turn }),
    });
    try {
      for await (const item of items) {
        if (item.type === 'event' || item.type === 'frame') after = item.id;
        await options.onItem(item);
        if (item.type === 'end' && item.turn !== null) return { kind: 'ended', turn: item.turn };
        if (isRemoval(item, prompt)) return { kind: 'removed' };
        const started = startedTurn(item, prompt);
        if (turn !== null || started === undefined) continue;
        turn = started;
        options.onTurn(started);
        // From here on the follow has an end.
        break;
      }
    } catch (error) {
      if (!(error instanceof ServerGone)) throw error;
      server = await options.reconnect();
    }
  }
}

function startedTurn(item: FollowItem, { requestId }: PromptAnswer): number | undefined {
  return item.type === 'event' &&
    item.event.type === 'turn/start' &&
    item.event.data.requestIds.includes(requestId)
    ? item.event.turn
    : undefined;
}

function isRemoval(item: FollowItem, { itemId }: PromptAnswer): boolean {
  return (
    item.type === 'event' &&
    item.event.type === 'agent/inbox/spliced' &&
    item.event.data.outcome === 'canceled' &&
    item.event.data.removed?.includes(itemId) === true
  );
}
