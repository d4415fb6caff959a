import { describe, expect, it } from 'vitest';
import { type Mount, mountArguments, orderMounts } from '../../../../src/tools/sandbox/mounts.js';

const workspace = (path: string): Mount => ({ kind: 'workspace', path });
const hidden = (path: string): Mount => ({ kind: 'hidden-folder', path });
const hiddenFile = (path: string): Mount => ({ kind: 'hidden-file', path });
const SCRATCH: Mount = { kind: 'scratch', path: '/tmp' };

describe('the order of mounts', () => {
  it.each<[string, Mount[], Mount[]]>([
    [
      'puts a workspace into the hidden folder around it',
      [workspace('/home/tk/workspaces/a'), hidden('/home/tk')],
      [hidden('/home/tk'), workspace('/home/tk/workspaces/a')],
    ],
    [
      'hides a folder of the workspace',
      [hidden('/home/ann/.turnkeeper'), workspace('/home/ann')],
      [workspace('/home/ann'), hidden('/home/ann/.turnkeeper')],
    ],
    [
      'never hides the workspace itself',
      [hidden('/srv/home'), workspace('/srv/home'), SCRATCH],
      [workspace('/srv/home'), SCRATCH],
    ],
    [
      'leaves the temporary folder to a workspace that is it',
      [SCRATCH, workspace('/tmp')],
      [workspace('/tmp')],
    ],
    [
      'leaves out what lies in a hidden folder, but not what lies in the workspace in it',
      [hidden('/run'), hiddenFile('/run/a.sock'), hiddenFile('/run/w/b.sock'), workspace('/run/w')],
      [hidden('/run'), workspace('/run/w'), hiddenFile('/run/w/b.sock')],
    ],
    [
      'takes a name that only begins alike for another folder',
      [hidden('/home/a'), hiddenFile('/home/a-b/s'), workspace('/w')],
      [hidden('/home/a'), hiddenFile('/home/a-b/s'), workspace('/w')],
    ],
  ])('%s', (_name, mounts, expected) => {
    expect(orderMounts(mounts)).toEqual(expected);
    expect(orderMounts(mounts.toReversed())).toEqual(expected);
  });
});

describe('the arguments of the mounts', () => {
  const of = (writable: boolean) =>
    mountArguments([workspace('/w'), hidden('/run')], { descriptor: 4, writable }).join(' ');

  it('begin with a root that is read-only and close hidden folders last', () => {
    expect(of(true)).toMatch(/^--ro-bind \/ \/ --proc \/proc .* --remount-ro \/proc --remount-ro \/run$/);
  });

  it('mount the open workspace, writable or not', () => {
    expect(of(true)).toContain(' --bind-fd 4 /w ');
    expect(of(false)).toContain(' --ro-bind-fd 4 /w ');
  });
});
