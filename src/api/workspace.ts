/**
 * Which folder a session may have as its workspace (DESIGN 15 and 19).
 *
 * Owns the check at the door. That tools stay inside of it is checked again at each use, in `tools/`.
 */
import { mkdir, realpath, rm, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';
import type { SessionUid } from '../contract/ids.js';
import type { ApiSettings } from './app-deps.js';
import { ProblemError } from './problem.js';

/** Folders that belong to the system, with everything in them. */
const SYSTEM_TREES = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/proc',
  '/sbin',
  '/sys',
  '/usr',
  '/Library',
  '/System',
];

/** Folders that are too much as a whole, but whose parts may be somebody's own. A person's home is theirs to choose. */
const SYSTEM_FOLDERS = new Set(['/', '/home', '/opt', '/run', '/var', '/Users', '/private']);

type WorkspaceSettings = Pick<ApiSettings, 'workspaceRoots' | 'workspacesFolder' | 'closedFolders'>;

/**
 * The real path of the folder that a caller asks for.
 *
 * @param keyRoots the folders of the caller's key; null where there is none.
 * @throws `ProblemError` `INVALID_REQUEST` where it is no existing folder with an absolute path, and
 *   `WORKSPACE_NOT_ALLOWED` for a system folder, one outside of the configured roots or the key's, or another session's
 *   own.
 */
export async function resolveWorkspace(
  asked: string,
  settings: WorkspaceSettings,
  keyRoots: readonly string[] | null,
): Promise<string> {
  if (!isAbsolute(asked) || asked.includes('\0')) throw unusable('must be an absolute path');
  // Before the file system is asked, whose answer would tell a key what exists elsewhere.
  if (keyRoots !== null && !keyRoots.some((root) => isInside(normalize(asked), root))) throw outsideOfKey();
  const folder = await realFolder(asked);
  if (folder === undefined) throw unusable('must be an existing folder');
  if (SYSTEM_FOLDERS.has(folder) || SYSTEM_TREES.some((tree) => isInside(folder, tree))) {
    throw notAllowed('a system folder cannot be a workspace');
  }
  if (keyRoots !== null && !(await isInsideAny(folder, keyRoots))) throw outsideOfKey();
  const { workspaceRoots } = settings;
  if (workspaceRoots !== null && !(await isInsideAny(folder, workspaceRoots))) {
    throw notAllowed('must be inside of the folders of server.workspaceRoots');
  }
  if (await isInsideAny(folder, [settings.workspacesFolder, ...(settings.closedFolders ?? [])])) {
    throw notAllowed("must not be inside of Turnkeeper's own folders");
  }
  return folder;
}

/** Whether a session with this workspace could have been made with a key that has these roots. */
export async function isReachableWorkspace(
  workspace: string,
  keyRoots: readonly string[],
  settings: WorkspaceSettings,
): Promise<boolean> {
  return isInside(workspace, settings.workspacesFolder) || isInsideAny(workspace, keyRoots);
}

/** The folder of a session that asked for none. */
export function freshWorkspace(uid: SessionUid, settings: WorkspaceSettings): string {
  return join(settings.workspacesFolder, uid);
}

/** Makes the folder of a session that asked for none; one that is there is left as it is. */
export async function makeFreshWorkspace(uid: SessionUid, settings: WorkspaceSettings): Promise<void> {
  await mkdir(freshWorkspace(uid, settings), { recursive: true });
}

/** Removes what a session's fresh workspace holds. */
export async function removeFreshWorkspace(uid: SessionUid, settings: WorkspaceSettings): Promise<void> {
  await rm(freshWorkspace(uid, settings), { recursive: true, force: true });
}

async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    // Not there, or not to be looked into: either way no workspace.
    return undefined;
  }
}

async function isInsideAny(folder: string, roots: readonly string[]): Promise<boolean> {
  const real = await Promise.all(roots.map(realFolder));
  return real.some((root) => root !== undefined && isInside(folder, root));
}

function isInside(folder: string, root: string): boolean {
  return folder === root || folder.startsWith(root.endsWith(sep) ? root : root + sep);
}

function unusable(what: string): ProblemError {
  return new ProblemError('INVALID_REQUEST', `"workspace": ${what}.`, 'workspace');
}

function outsideOfKey(): ProblemError {
  return notAllowed(
    'must be inside of the folders of the key; without a workspace the session gets a fresh one',
  );
}

function notAllowed(what: string): ProblemError {
  return new ProblemError('WORKSPACE_NOT_ALLOWED', `"workspace": ${what}.`, 'workspace');
}
