import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { detectSandbox } from '../../../../src/tools/sandbox/detect-sandbox.js';
import { DETECTED, sandboxIt } from './sandbox-fixture.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnkeeper-detect-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A PATH that begins with a `bwrap` which runs this shell script. */
async function pathWith(script: string): Promise<string> {
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin', 'bwrap'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return [join(folder, 'bin'), process.env.PATH].join(delimiter);
}

describe('what is found out about the sandbox of this machine', () => {
  it('is that it works, or why it does not', () => {
    if (DETECTED.works) {
      expect(DETECTED.version).toMatch(/^\d+\.\d+\.\d+$/);
      return;
    }
    console.warn(`NO SANDBOX WORKS ON THIS MACHINE, SO ITS TESTS DO NOT RUN. ${DETECTED.reason}`);
    expect(DETECTED.reason).toMatch(/[.)]$/);
    expect(DETECTED.reason.length).toBeGreaterThan(40);
  });
});

describe('a sandbox does not work', () => {
  it('without bubblewrap', async () => {
    expect(await detectSandbox({ PATH: folder })).toEqual({
      works: false,
      reason: expect.stringContaining('apt-get install bubblewrap') as string,
    });
  });

  it('with a bwrap of a relative folder of the PATH', async () => {
    expect(await detectSandbox({ PATH: '.:bin' })).toMatchObject({ works: false });
  });

  it('with a program that is no bubblewrap', async () => {
    const detected = await detectSandbox({ PATH: await pathWith('echo something else') });
    expect(detected).toMatchObject({
      works: false,
      reason: expect.stringContaining('is no bubblewrap') as string,
    });
  });

  it('with a bubblewrap that says it ran a command and did not', async () => {
    const lie = 'if [ "$1" = --version ]; then echo bubblewrap 0.11.0; fi; exit 0';
    expect(await detectSandbox({ PATH: await pathWith(lie) })).toMatchObject({ works: false });
  });

  it('with a bubblewrap that is too old', async () => {
    const old =
      'if [ "$1" = --version ]; then echo bubblewrap 0.4.0; exit; fi; echo "bwrap: Unknown option --bind-fd" >&2; exit 1';
    const detected = await detectSandbox({ PATH: await pathWith(old) });
    expect(detected).toMatchObject({ works: false, reason: expect.stringContaining('too old') as string });
  });

  sandboxIt('where user namespaces are forbidden', async () => {
    const program = DETECTED.works ? DETECTED.program : '';
    // The limit is of the new user namespace alone, so the machine stays as it is.
    const forbidden = `if [ "$1" = --version ]; then exec "${program}" "$@"; fi
      exec unshare --user --map-root-user sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"' "${program}" "$@"`;
    const detected = await detectSandbox({ PATH: await pathWith(forbidden) });
    expect(detected).toMatchObject({
      works: false,
      reason: expect.stringContaining('does not let bubblewrap make namespaces') as string,
    });
  });
});
