/**
 * What the .gitignore files between the workspace and a folder in it ignore. ripgrep reads those of the folder itself
 * and below.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';

/** Whether a file, by its path relative to the folder, is ignored by what stands above the folder. */
export type IsIgnored = (path: string) => boolean;

/** Reads the .gitignore files above `folder`, up to the workspace. A folder that is ignored itself hides nothing. */
export async function ignoredAbove(workspace: string, folder: string): Promise<IsIgnored> {
  const names = relative(workspace, folder)
    .split(sep)
    .filter((name) => name !== '');
  const levels: { readonly below: string; readonly rules: Ignore }[] = [];
  for (let depth = 0; depth < names.length; depth += 1) {
    const text = await readGitignore(join(workspace, ...names.slice(0, depth)));
    if (text === undefined) continue;
    const below = names.slice(depth).join('/');
    const rules = ignore({ ignorecase: false }).add(text);
    if (rules.ignores(`${below}/`)) return () => false;
    levels.unshift({ below, rules });
  }
  return (path) => {
    for (const { below, rules } of levels) {
      const { ignored, unignored } = rules.test(`${below}/${path}`);
      if (ignored || unignored) return ignored;
    }
    return false;
  };
}

async function readGitignore(folder: string): Promise<string | undefined> {
  try {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = await open(join(folder, '.gitignore'), flags);
    try {
      return (await handle.stat()).isFile() ? await handle.readFile('utf8') : undefined;
    } finally {
      await handle.close();
    }
  } catch {
    // Missing or unreadable: nothing is ignored by it.
    return undefined;
  }
}
