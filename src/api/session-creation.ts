/** Creates a session from what a caller asks for: checks the choices, then makes its fresh folder, then stores them. */
import type { SessionBody } from '../contract/http.js';
import type { SessionId, SessionUid } from '../contract/ids.js';
import type { SessionSettings } from '../contract/session.js';
import { DEFAULT_PROFILE_NAME } from '../core/profile-in-force.js';
import {
  StoreError,
  type LogTransaction,
  type SessionCreation,
  type SessionRecord,
} from '../store/session-store.js';
import type { AppDeps } from './app-deps.js';
import { permissionToCreate } from './auth/key-limits.js';
import type { RequestContext } from './request-context.js';
import { checkModelChoice, pinnedChoice, profileNamed } from './session-choice.js';
import { freshWorkspace, makeFreshWorkspace, removeFreshWorkspace, resolveWorkspace } from './workspace.js';

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
 * @param first done in the transaction that creates it: where it throws there is no session.
 * @throws `ProblemError` for a choice that cannot be, `StoreError` `SESSION_CONFLICT` for an id that is taken, or what
 * `first` throws.
 */
export async function createSession<T>(
  deps: AppDeps,
  { context, id, asked, bodySha256 }: SessionToCreate,
  first?: (transaction: LogTransaction) => Promise<T>,
): Promise<SessionCreation<T>> {
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
  const session = { tenant: context.tenant, id, uid, settings, bodySha256, ...title };
  // Before the commit: a turn may begin right after it.
  if (asked.workspace === undefined) await makeFreshWorkspace(uid, apiSettings);
  let created = false;
  try {
    const creation = await store.createSession(session, first);
    created = creation.created;
    return creation;
  } finally {
    if (!created) await removeFreshWorkspace(uid, apiSettings);
  }
}

async function sameSession(
  { settings }: AppDeps,
  standing: SessionRecord,
  { asked, bodySha256 }: Pick<SessionToCreate, 'asked' | 'bodySha256'>,
): Promise<SessionRecord> {
  if (standing.bodySha256 !== bodySha256) {
    throw new StoreError('SESSION_CONFLICT', `Session ${standing.id} exists with other settings.`);
  }
  // A power cut may have taken the folder and left the commit.
  if (asked.workspace === undefined) await makeFreshWorkspace(standing.uid, settings);
  return standing;
}
