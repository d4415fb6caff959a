/** Finds what a path names. Sessions are always looked up by tenant and id: another tenant's is not there. */
import type { Request } from 'express';
import { sessionIdSchema } from '../contract/ids.js';
import type { SessionRecord, SessionStore } from '../store/session-store.js';
import { ProblemError } from './problem.js';
import { contextOf } from './request-context.js';

/** The session of `:id`. @throws `ProblemError` `NOT_FOUND`. */
export async function sessionOf(
  request: Request<{ id: string }>,
  store: SessionStore,
): Promise<SessionRecord> {
  const id = sessionIdSchema.safeParse(request.params.id);
  const record = id.success ? await store.findSession(contextOf(request).tenant, id.data) : undefined;
  if (record === undefined) {
    throw new ProblemError('NOT_FOUND', 'There is no such session.');
  }
  return record;
}
