/** Lists of approvals and questions: their query, their page, and the resources of their rows. */
import type { Request } from 'express';
import { z } from 'zod';
import { sessionIdSchema } from '../contract/ids.js';
import type { Page } from '../contract/http.js';
import type { AskRecord, SessionRecord, SessionStore } from '../store/session-store.js';
import { ProblemError } from './problem.js';
import { contextOf } from './request-context.js';
import { parseQuery, queryParameters } from './request-input.js';
import { unlessDeleted, unlessUnreadable } from './unless-deleted.js';

const pageParameters = {
  limit: queryParameters.limit,
  cursor: z.uuid().optional(),
  status: z.enum(['open', 'closed', 'all']).default('open'),
};

/** What kind of ask a list is of, and how one of its rows becomes a resource. */
export interface AskKind<T> {
  readonly kind: AskRecord['kind'];
  readonly read: (store: SessionStore, record: AskRecord) => Promise<T>;
}

/** A page of the tenant's asks, newest first; `?session=` is one session's. */
export async function listTenantAsks<T>(
  request: Request,
  store: SessionStore,
  kind: AskKind<T>,
): Promise<Page<T>> {
  const { session: id, ...query } = parseQuery(request, {
    ...pageParameters,
    session: sessionIdSchema.optional(),
  });
  const { tenant } = contextOf(request);
  if (id === undefined) return askPage(tenant, store, { ...kind, ...query });
  const session = await store.findSession(tenant, id);
  if (session === undefined) throw new ProblemError('NOT_FOUND', 'There is no such session.', 'session');
  return askPage(tenant, store, { ...kind, ...query, session });
}

/** A page of a session's asks, newest first. */
export async function listSessionAsks<T>(
  request: Request<{ id: string }>,
  store: SessionStore,
  kind: AskKind<T> & { readonly session: SessionRecord },
): Promise<Page<T>> {
  return askPage(kind.session.tenant, store, { ...kind, ...parseQuery(request, pageParameters) });
}

interface AskPageQuery<T> extends AskKind<T> {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly status: 'open' | 'closed' | 'all';
  readonly session?: SessionRecord;
}

async function askPage<T>(
  tenant: string,
  store: SessionStore,
  { kind, read, limit, cursor, status, session }: AskPageQuery<T>,
): Promise<Page<T>> {
  const records = await store.listAsks({
    tenant,
    kind,
    limit: limit + 1,
    ...(cursor === undefined ? {} : { before: cursor }),
    ...(session === undefined ? {} : { uid: session.uid }),
    ...(status === 'all' ? {} : { status }),
  });
  const page = records.slice(0, limit);
  const items: T[] = [];
  const tolerant = session === undefined ? unlessUnreadable : unlessDeleted;
  for (const record of page) {
    const item = await tolerant(() => read(store, record));
    if (item !== undefined) items.push(item);
  }
  return { items, nextCursor: records.length > limit ? (page.at(-1)?.id ?? null) : null };
}
