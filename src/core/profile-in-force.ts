/** Which profile holds for a session: its own, else `default` where the configuration has lost that one. */
import type { Profile } from '../contract/configuration.js';

/** The profile of sessions that name none. */
export const DEFAULT_PROFILE_NAME = 'default';

/**
 * The profile that holds. A profile that has left the configuration leaves its sessions usable, and a turn is not lost
 * for it.
 *
 * @param name as the session's settings have it. @throws Error where there is not even a profile `default`.
 */
export function profileInForce(profiles: ReadonlyMap<string, Profile>, name: string | undefined): Profile {
  const profile = profiles.get(name ?? DEFAULT_PROFILE_NAME) ?? profiles.get(DEFAULT_PROFILE_NAME);
  if (profile === undefined) throw new Error('The configuration has no profile "default".');
  return profile;
}
