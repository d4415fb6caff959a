/** The title that a session without one gets from its first prompt. */
import type { Profile } from '../contract/configuration.js';
import type { InputBlock } from '../contract/content.js';
import { profileInForce } from '../core/profile-in-force.js';
import type { SessionState } from '../core/session-state.js';
import { titleOfPrompt } from '../core/title.js';

/** Undefined where the session has a title, its profile wants none, or the prompt has no words. */
export function promptTitle(
  content: readonly InputBlock[],
  { titleSource, settings }: SessionState,
  profiles: ReadonlyMap<string, Profile>,
): string | undefined {
  if (titleSource !== null) return undefined;
  const { titles } = profileInForce(profiles, settings?.profile);
  return titles === 'off' ? undefined : titleOfPrompt(content);
}
