/**
 * Deletes a session: what runs in it is cancelled, its rows go in one transaction, and then its own folder.
 *
 * What the deletion leaves behind where it dies in the middle, and Temporal's workflows, are removed later by
 * `runtime/retention.ts`, which also deletes old sessions by this.
 */
import { StoreError, type SessionRecord } from '../store/session-store.js';
import type { AppDeps } from './app-deps.js';
import { requestCancel } from './cancel.js';
import type { EngineNudge } from './engine-nudge.js';
import { removeFreshWorkspace } from './workspace.js';

type DeletionDeps = Pick<AppDeps, 'store' | 'logger'> & {
  readonly settings: Pick<AppDeps['settings'], 'workspacesFolder' | 'workspaceRoots'>;
};

/** Deletes the session, whatever it is doing; one that is deleted already is left at that. */
export async function deleteSession(
  deps: DeletionDeps,
  nudge: Pick<EngineNudge, 'cancel'>,
  { uid, openTurn }: SessionRecord,
  by: string,
): Promise<void> {
  try {
    const running = await requestCancel(deps.store, uid, { by });
    if (running.kind === 'cancelling') nudge.cancel(uid, running.turn);
  } catch (error) {
    // Nothing can be written into a log that is damaged. It goes all the same.
    if (!(error instanceof StoreError && error.code.startsWith('LOG_'))) throw error;
    if (openTurn !== null) nudge.cancel(uid, openTurn);
  }
  if (await deps.store.deleteSession(uid)) await removeFolder(deps, uid);
}

/** Deletes the session where no turn is open and its log has not grown after a time (ISO 8601); else false. */
export async function deleteUnchangedSession(
  deps: DeletionDeps,
  { uid }: SessionRecord,
  unchangedSince: string,
): Promise<boolean> {
  const isDeleted = await deps.store.deleteSession(uid, { unchangedSince });
  if (isDeleted) await removeFolder(deps, uid);
  return isDeleted;
}

/** The data is gone; a folder that cannot be removed must not make the deletion look as if it had failed. */
async function removeFolder({ settings, logger }: DeletionDeps, uid: SessionRecord['uid']): Promise<void> {
  await removeFreshWorkspace(uid, settings).catch((error: unknown) => {
    logger.warn(
      { err: error, uid },
      'the workspace of a deleted session could not be removed; it is tried again',
    );
  });
}
