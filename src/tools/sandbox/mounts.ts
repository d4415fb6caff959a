/**
 * What a confined command sees of the file system: everything read-only, but for the workspace and a fresh `/tmp`, with
 * some places hidden.
 *
 * Owns which mount lies over which. Pure; what there is to hide is found in `hidden-places.ts`.
 */
import { isWithin } from '../workspace-paths.js';

/** A mount over the read-only root; each path is absolute and real. */
export type Mount =
  /** A folder that is fresh for each command and may be written. */
  | { readonly kind: 'scratch'; readonly path: string }
  | { readonly kind: 'hidden-folder'; readonly path: string }
  | { readonly kind: 'hidden-file'; readonly path: string }
  | { readonly kind: 'workspace'; readonly path: string };

/**
 * The mounts in the order in which they are made: what lies in another one comes after it. Left out is what would hide the
 * workspace itself, or what is hidden already by a folder around it.
 */
export function orderMounts(mounts: readonly Mount[]): readonly Mount[] {
  const workspace = mounts.find(({ kind }) => kind === 'workspace')?.path;
  const kept: Mount[] = [];
  // A folder's path is a prefix of what lies in it, and so comes before it.
  for (const mount of mounts.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))) {
    const around = kept.findLast(({ path }) => isWithin(path, mount.path));
    const isEmptyAround = around?.kind === 'scratch' || around?.kind === 'hidden-folder';
    if (mount.kind !== 'workspace' && (isEmptyAround || mount.path === workspace)) continue;
    kept.push(mount);
  }
  return kept;
}

export interface WorkspaceMount {
  /** The open folder, as a descriptor that bubblewrap inherits: what is mounted is this one, whatever lies at the path. */
  readonly descriptor: number;
  readonly writable: boolean;
}

/** The mounts as arguments for bubblewrap. */
export function mountArguments(mounts: readonly Mount[], workspace: WorkspaceMount): readonly string[] {
  const ordered = orderMounts(mounts);
  const readOnly = ordered.filter(({ kind }) => kind === 'hidden-folder').map(({ path }) => path);
  return [
    ...['--ro-bind', '/', '/'],
    ...['--proc', '/proc'],
    ...['--dev', '/dev'],
    ...ordered.flatMap((mount) => argumentsOf(mount, workspace)),
    // Last: until here, mounts are made in them. /proc too: as root, it would let a command set kernel parameters.
    ...['/proc', ...readOnly].flatMap((path) => ['--remount-ro', path]),
  ];
}

function argumentsOf({ kind, path }: Mount, { descriptor, writable }: WorkspaceMount): readonly string[] {
  switch (kind) {
    case 'scratch':
      return ['--perms', '1777', '--tmpfs', path];
    case 'hidden-folder':
      return ['--tmpfs', path];
    case 'hidden-file':
      return ['--ro-bind', '/dev/null', path];
    case 'workspace':
      return [writable ? '--bind-fd' : '--ro-bind-fd', String(descriptor), path];
  }
}
