/**
 * What a key may do with sessions: the widest permission mode, the workspaces, and how many prompts a day.
 *
 * A key works with the sessions that it could have made. Sessions of its tenant that are wider it reads and cancels.
 */
import type { Profile } from '../../contract/configuration.js';
import type { SessionPatch } from '../../contract/http.js';
import type { SessionUid } from '../../contract/ids.js';
import type { ApiKey } from '../../contract/keys.js';
import type { PermissionMode, SessionSettings } from '../../contract/session.js';
import { isWithin } from '../../core/permission-width.js';
import { profileInForce } from '../../core/profile-in-force.js';
import type { LogTransaction } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { ProblemError } from '../problem.js';
import type { RequestContext } from '../request-context.js';
import { isReachableWorkspace } from '../workspace.js';

/**
 * The permission mode that a new session is created with: what was asked for, or the key's where the profile's would be
 * wider; undefined leaves it to the profile.
 *
 * @throws `ProblemError` `PERMISSION_NOT_ALLOWED`.
 */
export function permissionToCreate(
  asked: PermissionMode | undefined,
  profile: Profile,
  { key }: RequestContext,
): PermissionMode | undefined {
  if (key === null) return asked;
  if (asked === undefined) return isWithin(profile.permission, key.permission) ? undefined : key.permission;
  if (!isWithin(asked, key.permission)) throw tooWide(key, asked);
  return asked;
}

/**
 * The permission mode that a change of settings has to record, as {@link permissionToCreate} does.
 *
 * @throws `ProblemError` `PERMISSION_NOT_ALLOWED`, also where the session is too wide for the key as it is.
 */
export function permissionToPatch(
  patch: SessionPatch,
  holds: SessionSettings | null,
  { key }: RequestContext,
  deps: Pick<AppDeps, 'profiles'>,
): PermissionMode | undefined {
  if (key === null) return patch.permission;
  const explicit = patch.permission ?? holds?.permission;
  if (explicit !== undefined) {
    if (!isWithin(explicit, key.permission)) throw tooWide(key, explicit);
    return patch.permission;
  }
  const { permission } = profileInForce(deps.profiles, patch.profile ?? holds?.profile);
  if (isWithin(permission, key.permission)) return undefined;
  if (patch.profile === undefined) throw tooWide(key, permission);
  return key.permission;
}

/**
 * Checks that a session is one that the key may work with. Not inside of a transaction: it reads the store.
 *
 * @throws `ProblemError` `PERMISSION_NOT_ALLOWED`, `WORKSPACE_NOT_ALLOWED`, `StoreError` `SESSION_NOT_FOUND`.
 */
export async function requireReach(
  uid: SessionUid,
  context: RequestContext,
  deps: Pick<AppDeps, 'store' | 'profiles' | 'settings'>,
): Promise<void> {
  if (context.key === null) return;
  requireMode((await deps.store.readState(uid)).settings, context, deps);
  await requireWorkspace(uid, context, deps);
}

/** The part of {@link requireReach} that no change of settings alters. */
export async function requireWorkspace(
  uid: SessionUid,
  { key }: RequestContext,
  deps: Pick<AppDeps, 'store' | 'settings'>,
): Promise<void> {
  if (key === null) return;
  const workspace = (await deps.store.readState(uid)).settings?.workspace ?? '';
  if (await isReachableWorkspace(workspace, key.workspaceRoots, deps.settings)) return;
  throw new ProblemError(
    'WORKSPACE_NOT_ALLOWED',
    `The session's workspace is outside of the folders of the key "${key.name}".`,
    'workspace',
  );
}

/**
 * Counts a prompt that is being stored, in its transaction, and looks at the session's mode once more: it may have been
 * widened meanwhile.
 *
 * @throws `ProblemError` `PERMISSION_NOT_ALLOWED`, `RATE_LIMITED`.
 */
export async function chargePrompt(
  transaction: Pick<LogTransaction, 'state' | 'at' | 'countPrompt'>,
  context: RequestContext,
  deps: Pick<AppDeps, 'profiles'>,
): Promise<void> {
  const { key } = context;
  if (key === null) return;
  requireMode(transaction.state.settings, context, deps);
  const { promptsPerDay } = key;
  if (promptsPerDay === null || (await transaction.countPrompt(key.id, promptsPerDay))) return;
  throw new ProblemError(
    'RATE_LIMITED',
    `The key "${key.name}" may send ${String(promptsPerDay)} prompts a day; the day ends at midnight UTC.`,
    undefined,
    secondsToMidnight(transaction.at),
  );
}

/** Checks that a session with these settings is one that the key may work with. @throws `ProblemError` `PERMISSION_NOT_ALLOWED`. */
export function requireMode(
  holds: SessionSettings | null,
  { key }: RequestContext,
  deps: Pick<AppDeps, 'profiles'>,
): void {
  if (key === null) return;
  const permission = holds?.permission ?? profileInForce(deps.profiles, holds?.profile).permission;
  if (!isWithin(permission, key.permission)) throw tooWide(key, permission);
}

function tooWide({ name, permission }: ApiKey, asked: PermissionMode): ProblemError {
  return new ProblemError(
    'PERMISSION_NOT_ALLOWED',
    `The permission mode "${asked}" is wider than "${permission}", the widest of the key "${name}".`,
    'permission',
  );
}

function secondsToMidnight(at: string): number {
  const now = new Date(at);
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return Math.ceil((midnight - now.getTime()) / 1000);
}
