/**
 * Follows all sessions of a tenant, across broken connections: which session is different and what waits for a person,
 * never what was said.
 *
 * There is no cursor. Each connection begins with `start`: list then, and take what follows as news of that list. What
 * changed before `start` is in the list; what changes after it is told, though the list may show it already.
 */
import type {
  ApprovalChange,
  QuestionChange,
  SessionChange,
  TenantChangeType,
} from '../contract/tenant-stream.js';
import type { SourceMessage } from './event-source.js';
import { readAcrossConnections, type ReconnectOptions } from './reconnect.js';
import type { Send } from './request.js';

export type TenantItem =
  /** Connected, for the first time or again: list now what you show. */
  | { readonly type: 'start' }
  /** `added` also of one that is known: it was deleted, and its id given again. */
  | { readonly type: 'session'; readonly session: SessionChange }
  | { readonly type: 'approval'; readonly approval: ApprovalChange }
  | { readonly type: 'question'; readonly question: QuestionChange };

export interface FollowTenantOptions extends ReconnectOptions {
  /** Default: all. */
  readonly types?: readonly TenantChangeType[] | undefined;
}

/** Follows the stream at `path`, until the caller leaves. @throws `ApiError` for what no repetition cures, or the signal's reason. */
export async function* followTenant(
  send: Send,
  path: string,
  { types, ...options }: FollowTenantOptions,
): AsyncGenerator<TenantItem, void, void> {
  let isAttached = false;
  yield* readAcrossConnections<TenantItem>(
    {
      connect: (signal) => {
        isAttached = false;
        return send(path, {
          headers: { accept: 'text/event-stream' },
          query: { types: types?.join(',') },
          signal,
        });
      },
      take: (message) => {
        if (message.event !== 'ping') return changeOf(message);
        const isFirst = !isAttached;
        isAttached = true;
        return isFirst ? { type: 'start' } : undefined;
      },
    },
    options,
  );
}

function changeOf({ event, data }: SourceMessage): TenantItem | undefined {
  switch (event) {
    case 'session':
      return { type: 'session', session: JSON.parse(data) as SessionChange };
    case 'approval':
      return { type: 'approval', approval: JSON.parse(data) as ApprovalChange };
    case 'question':
      return { type: 'question', question: JSON.parse(data) as QuestionChange };
    default:
      return undefined;
  }
}
