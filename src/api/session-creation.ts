/** Creates a session from what a caller asks for: checks the choices, then stores them, then makes its fresh folder. */
import type { SessionBody } from '../contract/http.js';
import type { SessionId, SessionUid } from '../contract/ids.js';
import type { SessionSettings } from '../contract/session.js';
import { DEFAULT_PROFILE_NAME } from '../core/profile-in-force.js';
import { StoreError, type SessionRecord } from '../store/session-store.js';
import type { AppDeps } from './app-deps.js';
import { permissionToCreate } from './auth/key-limits.js';
import type { RequestContext } from './request-context.js';
import { checkModelChoice, pinnedChoice, profileNamed } from './session-choice.js';
import { freshWorkspace, makeFreshWorkspace, resolveWorkspace } from './workspace.js';

export interface SessionToCreate {
  readonly context: RequestContext;
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
  { context, id, asked, bodySha256 }: SessionToCreate,
): Promise<{ readonly record: SessionRecord; readonly created: boolean }> {
  const { store, settings: apiSettings } = deps;
  // Before all checks: what was created once is found again, also by a configuration that would refuse it today.
  const standing = await store.findSession(context.tenant, id);
  if (standing !== undefined) {
    return { record: await sameSession(deps, standing, { asked, bodySha256 }), created: false };
  }
  const chosen = pinnedChoice(asked, checkModelChoice(asked, {}, deps));
  const profile = profileNamed(asked.profile ?? DEFAULT_PROFILE_NAME, deps);
  const permission = permissionToCreate(asked.permission, profile, context);
  const uid = deps.ids.uuid() as SessionUid;
  const settings: SessionSettings = {
    workspace:
      asked.workspace === undefined
        ? freshWorkspace(uid, apiSettings)
        : await resolveWorkspace(asked.workspace, apiSettings, context.key?.workspaceRoots ?? null),
    profile: profile.name,
    ...chosen,
    permission,
    limits: asked.limits,
    metadata: asked.metadata,
  };
  const title = asked.title === undefined ? {} : { title: asked.title };
  const result = await store.createSession({
    tenant: context.tenant,
    id,
    uid,
    settings,
    bodySha256,
    ...title,
  });
  // Also for a repetition: the one before may have died between the commit and this line.
  if (asked.workspace === undefined) await makeFreshWorkspace(result.record.uid, apiSettings);
  return result;
}

async function sameSession(
  { settings }: AppDeps,
  standing: SessionRecord,
  { asked, bodySha256 }: Pick<SessionToCreate, 'asked' | 'bodySha256'>,
): Promise<SessionRecord> {
  if (standing.bodySha256 !== bodySha256) {
    throw new StoreError('SESSION_CONFLICT', `Session ${standing.id} exists with other settings.`);
  }
  // The one before may have died between its commit and the making of its folder.
  if (asked.workspace === undefined) await makeFreshWorkspace(standing.uid, settings);
  return standing;
}
