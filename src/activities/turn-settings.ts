/** What holds for a session's next request: its profile, narrowed by the session's settings and the prompt's choice. */
import type { Profile } from '../contract/configuration.js';
import type { PermissionMode, SessionLimits, SessionSettings, TurnLimits } from '../contract/session.js';
import { chooseModel, usualModelOf } from '../core/model-choice.js';
import type { PermissionPolicy } from '../core/permission.js';
import { DEFAULT_PROFILE_NAME, profileInForce } from '../core/profile-in-force.js';
import type { CommandSandbox } from '../tools/execution-provider.js';
import type { SessionUid } from '../contract/ids.js';
import type { ActivityDeps } from './activity-deps.js';
import type { HookSession } from './turn-hooks.js';
import type { SessionState } from '../core/session-state.js';
import type { LimitReached } from '../core/spending.js';
import { askFirstReason } from '../core/standstill.js';
import { turnLimits } from '../core/turn-limits.js';
import { spendingReached, type CallLimits } from '../core/turn-progress.js';
import type { ModelCatalog } from '../model/model-catalog.js';

export interface TurnSettings {
  readonly profile: Profile;
  readonly workspace: string;
  readonly provider: string;
  /** '' where a provider was chosen alone that has no usual model; the API does not let that happen. */
  readonly model: string;
  readonly permission: PermissionMode;
  readonly policy: PermissionPolicy;
  /** How commands are confined; null: not at all. */
  readonly sandbox: CommandSandbox | null;
  readonly limits: TurnLimits;
  readonly sessionLimits: SessionLimits;
}

/**
 * The settings in force. Profile, model and limits are those of the turn's entry: a change, such as a raised limit, holds
 * from the next turn on. A change of the permission mode holds at once.
 *
 * @throws Error where the log has no `session/created`.
 */
export function settingsInForce(
  state: SessionState,
  { profiles, execution }: Pick<ActivityDeps, 'profiles' | 'execution'>,
): TurnSettings {
  const settings: SessionSettings | null = state.openTurn?.settings ?? state.settings;
  if (settings === null) throw new Error('The session has no settings.');
  const profile = profileInForce(profiles, settings.profile);
  const { provider, model } = chooseModel(profile, [settings, state.openTurn?.choice], (name) =>
    usualModelOf(name, [profile, profiles.get(DEFAULT_PROFILE_NAME)], []),
  );
  const sandboxed = execution.kind === 'sandbox' && profile.sandbox === 'auto';
  const permission = state.settings?.permission ?? profile.permission;
  const askFirst = askFirstReason(state.openTurn?.interruption ?? null);
  return {
    profile,
    workspace: settings.workspace,
    provider,
    model: model ?? '',
    permission,
    policy: {
      mode: permission,
      rules: profile.rules,
      grants: state.grants,
      sandboxed,
      ...(askFirst === undefined ? {} : { askFirst }),
    },
    sandbox:
      sandboxed && permission !== 'full-access' ? { writable: permission === 'workspace-write' } : null,
    limits: turnLimits(profile.limits, settings.limits),
    sessionLimits: profile.sessionLimits,
  };
}

/** The session as hooks see it. */
export function hookSession(state: SessionState, uid: SessionUid, settings: TurnSettings): HookSession {
  const { workspace, profile, provider, model, permission } = settings;
  return {
    id: state.sessionId ?? '',
    uid,
    workspace,
    profile: profile.name,
    provider,
    model,
    permission,
    metadata: state.settings?.metadata ?? {},
  };
}

/** The tools that the open step's request offers: all others are unknown to its calls. */
export function offeredTools(state: SessionState): readonly string[] {
  return state.header?.tools.map(({ name }) => name) ?? [];
}

type LimitDeps = Pick<ActivityDeps, 'profiles' | 'execution'> & {
  readonly models: Pick<ModelCatalog, 'resolve'>;
};

/** What the next call of the open turn is held against. */
export function callLimits(state: SessionState, deps: LimitDeps): CallLimits {
  const { limits, sessionLimits, provider, model } = settingsInForce(state, deps);
  return { ...limits, session: sessionLimits, price: deps.models.resolve(provider, model)?.model.price };
}

/** The limit on tokens or cost that leaves no room for another call; null where there is room. */
export function spendingLimitReached(state: SessionState, deps: LimitDeps): LimitReached | null {
  return spendingReached(state, callLimits(state, deps));
}
