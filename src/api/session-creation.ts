/** Creates a session from what a caller asks for: checks the choices, then stores them, then makes its fresh folder. */
import type { SessionBody } from '../contract/http.js';
import type { SessionId, SessionUid } from '../contract/ids.js';
import type { SessionSettings } from '../contract/session.js';
import type { SessionRecord } from '../store/session-store.js';
import type { AppDeps } from './app-deps.js';
import { checkModelChoice, DEFAULT_PROFILE_NAME, pinnedChoice } from './session-choice.js';
import { freshWorkspace, makeFreshWorkspace, resolveWorkspace } from './workspace.js';

export interface SessionToCreate {
  readonly tenant: string;
  readonly id: SessionId;
  readonly asked: Omit<SessionBody, 'id'>;
  /** The digest of the body that asks, which tells a repetition from a conflict. */
  readonly bodySha256: string;
}

/**
 * Creates the session, or finds the one that the same body created before.
 *
 * @throws `ProblemError` for a choice that cannot be, `StoreError` `SESSION_CONFLICT` for an id that is taken.
 */
export async function createSession(
  deps: AppDeps,
  { tenant, id, asked, bodySha256 }: SessionToCreate,
): Promise<{ readonly record: SessionRecord; readonly created: boolean }> {
  const { store, settings: apiSettings } = deps;
  const chosen = pinnedChoice(asked, checkModelChoice(asked, {}, deps));
  const uid = deps.ids.uuid() as SessionUid;
  const settings: SessionSettings = {
    workspace:
      asked.workspace === undefined
        ? freshWorkspace(uid, apiSettings)
        : await resolveWorkspace(asked.workspace, apiSettings),
    profile: asked.profile ?? DEFAULT_PROFILE_NAME,
    ...chosen,
    permission: asked.permission,
    limits: asked.limits,
    metadata: asked.metadata,
  };
  const title = asked.title === undefined ? {} : { title: asked.title };
  const result = await store.createSession({ tenant, id, uid, settings, bodySha256, ...title });
  // Also for a repetition: the one before may have died between the commit and this line.
  if (asked.workspace === undefined) await makeFreshWorkspace(result.record.uid, apiSettings);
  return result;
}
