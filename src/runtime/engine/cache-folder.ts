/**
 * Where programs that were fetched are kept between runs.
 */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** TURNKEEPER_CACHE, else `turnkeeper` in XDG_CACHE_HOME, else `~/.cache/turnkeeper`; always absolute. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const chosen = env.TURNKEEPER_CACHE?.trim() ?? '';
  const userHome = env.HOME === undefined || env.HOME === '' ? homedir() : env.HOME;
  if (chosen !== '') {
    return resolve(chosen.startsWith('~/') ? join(userHome, chosen.slice(2)) : chosen);
  }
  const xdg = env.XDG_CACHE_HOME ?? '';
  return isAbsolute(xdg) ? join(xdg, 'turnkeeper') : join(userHome, '.cache', 'turnkeeper');
}
