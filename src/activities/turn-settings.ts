/** What holds for a session's next request: its profile, narrowed by the session's settings and the prompt's choice. */
import type { Profile } from '../contract/configuration.js';
import type { SessionSettings, PermissionMode, TurnLimits } from '../contract/session.js';
import type { PermissionPolicy } from '../core/permission.js';
import type { SessionState } from '../core/session-state.js';
import { turnLimits } from '../core/turn-limits.js';

export interface TurnSettings {
  readonly profile: Profile;
  readonly workspace: string;
  readonly provider: string;
  readonly model: string;
  readonly permission: PermissionMode;
  readonly policy: PermissionPolicy;
  readonly limits: TurnLimits;
}

/**
 * The settings in force.
 *
 * @throws Error where the log has no `session/created`. A profile that the configuration has lost is replaced by
 * `default`: a turn is not lost for it.
 */
export function settingsInForce(state: SessionState, profiles: ReadonlyMap<string, Profile>): TurnSettings {
  const settings: SessionSettings | null = state.settings;
  const profile = profiles.get(settings?.profile ?? 'default') ?? profiles.get('default');
  if (settings === null || profile === undefined) throw new Error('The session has no settings.');
  const choice = state.openTurn?.choice ?? {};
  const ownModel = choice.model ?? settings.model;
  const ownProvider = choice.provider ?? settings.provider;
  const permission = settings.permission ?? profile.permission;
  return {
    profile,
    workspace: settings.workspace,
    provider: ownProvider ?? profile.provider,
    model: ownModel ?? profile.model,
    permission,
    policy: { mode: permission, rules: profile.rules, sandboxed: false },
    limits: turnLimits(profile, settings),
  };
}
