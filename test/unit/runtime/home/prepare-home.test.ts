import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareHome } from '../../../../src/runtime/home/prepare-home.js';

const ID = '0b0e7a2e-52a5-4c8b-9a4b-5a4f3f9f2a11';
let parent: string;
let folder: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'turnkeeper-home-'));
  folder = join(parent, 'deep', 'home');
});
afterEach(() => {
  rmSync(parent, { recursive: true, force: true });
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('prepareHome', () => {
  it('makes a private folder', () => {
    prepareHome(folder);
    expect(modeOf(folder)).toBe(0o700);
  });

  it('makes the host id once and keeps it', () => {
    expect(prepareHome(folder, () => ID)).toEqual({ folder, hostId: ID });
    expect(prepareHome(folder).hostId).toBe(ID);
    expect(modeOf(join(folder, 'host-id'))).toBe(0o600);
  });

  it('closes a home that others could enter, also one that holds no more than a configuration', () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'turnkeeper.config.yaml'), '');
    chmodSync(folder, 0o755);
    prepareHome(folder);
    expect(modeOf(folder)).toBe(0o700);
    writeFileSync(join(folder, 'sessions.db'), '');
    chmodSync(folder, 0o750);
    prepareHome(folder);
    expect(modeOf(folder)).toBe(0o700);
  });

  it('refuses a folder that is shared with other things, and leaves its mode alone', () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'letter.txt'), '');
    chmodSync(folder, 0o755);
    expect(() => prepareHome(folder)).toThrow(
      expect.objectContaining({
        code: 'HOME_NOT_PRIVATE',
        message: expect.stringContaining('mode 755') as string,
      }),
    );
    expect(modeOf(folder)).toBe(0o755);
  });

  it('refuses a host id that is damaged, and a home that is a file', () => {
    prepareHome(folder);
    writeFileSync(join(folder, 'host-id'), 'x');
    expect(() => prepareHome(folder)).toThrow(/host-id does not hold a UUID/);
    const file = join(parent, 'file');
    writeFileSync(file, '');
    expect(() => prepareHome(file)).toThrow(expect.objectContaining({ code: 'HOME_UNUSABLE' }));
  });
});
