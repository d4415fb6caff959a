/** The title that a session without one gets from its first prompt. */
import type { Profile } from '../contract/configuration.js';
import type { InputBlock } from '../contract/content.js';
import type { SessionState } from '../core/session-state.js';
import { titleOfPrompt } from '../core/title.js';
import { DEFAULT_PROFILE_NAME } from './session-choice.js';

/** Undefined where the session has a title, its profile wants none, or the prompt has no words. */
export function promptTitle(
  content: readonly InputBlock[],
  { titleSource, settings }: SessionState,
  profiles: ReadonlyMap<string, Profile>,
): string | undefined {
  if (titleSource !== null) return undefined;
  const profile = profiles.get(settings?.profile ?? DEFAULT_PROFILE_NAME);
  return profile?.titles === 'off' ? undefined : titleOfPrompt(content);
}
