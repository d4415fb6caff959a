import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256Schema } from '../../../src/contract/ids.js';
import { killMarkedProcesses } from '../../../src/tools/local/process-tree.js';
import { isCommandAlive, uniqueSleep } from '../../support/processes.js';
import { createToolFixture, textOf, type ToolFixture, until } from './tool-fixture.js';

let fixture: ToolFixture;
beforeEach(async () => {
  fixture = await createToolFixture();
});
afterEach(async () => {
  await killMarkedProcesses(fixture.key);
  await fixture.remove();
});

const bash = async (command: string, args: object = {}) =>
  textOf(await fixture.run('bash', { command, ...args }));

describe('the result of bash', () => {
  it('has the output and ends with the exit code', async () => {
    expect(await bash('echo one; echo two')).toBe('one\ntwo\n[exit code: 0]');
  });

  it('is no error when the command fails', async () => {
    const outcome = await fixture.run('bash', { command: 'echo bad >&2; exit 7' });
    expect(textOf(outcome)).toBe('[stderr]\nbad\n[exit code: 7]');
    expect(outcome.isError).toBe(false);
  });

  it('has the output of each of many short commands', async () => {
    const runs = Array.from({ length: 60 }, (_, index) => bash(`echo ${String(index)}`));
    expect(await Promise.all(runs)).toEqual(runs.map((_, index) => `${String(index)}\n[exit code: 0]`));
  });

  it('says only how it ended when there was no output', async () => {
    expect(await bash('true')).toBe('[exit code: 0]');
  });

  it('names the signal that killed the command', async () => {
    expect(await bash('kill -SEGV $$')).toBe('[killed by signal SIGSEGV]');
  });

  it('keeps head and tail of a large stream and the whole in a blob', async () => {
    const text = await bash('seq 1 100000');
    expect(text.startsWith('1\n2\n3\n')).toBe(true);
    expect(text).toContain('\n100000\n');
    expect(text.endsWith('[exit code: 0]')).toBe(true);
    const sha256 = /stdout: all 588895 bytes are in blob:([0-9a-f]{64})/.exec(text)?.[1];
    const whole = Buffer.from(fixture.blobs.get(sha256Schema.parse(sha256))!).toString();
    expect(whole.split('\n')).toHaveLength(100_001);
    expect(whole.startsWith('1\n2\n')).toBe(true);
    expect(
      textOf(await fixture.run('read', { file_path: `blob:${String(sha256)}`, offset: 50_000, limit: 1 })),
    ).toContain('50000\t50000\n');
  });

  it('bounds what is kept of an endless stream', async () => {
    const text = await bash('head -c 40000000 /dev/zero | tr "\\0" x');
    expect(text).toContain('the first 33554432 of 40000000 bytes are in blob:');
  });

  it('shows binary output as its size and type', async () => {
    await writeFile(fixture.path('a.png'), Buffer.from('\x89PNG\r\n\x1a\n\0\0\0', 'latin1'));
    expect(await bash('cat a.png')).toMatch(
      /^\[binary output: 11 bytes, image\/png\]\n\[stdout: all 11 bytes/,
    );
  });

  it('keeps characters whole where a stream is cut', async () => {
    const text = await bash(`for i in $(seq 1 200); do printf '€%.0s' $(seq 1 500); done`);
    expect(text).not.toContain('\ufffd');
  });
});

describe('the output of bash while it runs', () => {
  it('is shown before the command ends, with split characters put together', async () => {
    const go = fixture.path('go');
    const running = fixture.run('bash', {
      command: `printf '\\xe2\\x82'; printf 'x' >&2; until [ -e go ]; do :; done; printf '\\xac'`,
    });
    await until(() => fixture.outputs.some(({ stream, text }) => stream === 'stderr' && text === 'x'));
    await writeFile(go, '');
    await running;
    expect(
      fixture.outputs
        .filter(({ stream }) => stream === 'stdout')
        .map(({ text }) => text)
        .join(''),
    ).toBe('€');
  });

  it('stops being shown after a megabyte', async () => {
    await bash('head -c 5000000 /dev/zero | tr "\\0" x');
    const shown = fixture.outputs.reduce((sum, { text }) => sum + text.length, 0);
    expect(shown).toBeLessThan(1_200_000);
    expect(fixture.outputs.at(-1)?.text).toContain('is not shown live');
  });
});

describe('where bash runs', () => {
  it('runs in the workspace, or in a folder of it', async () => {
    await mkdir(fixture.path('sub'));
    expect(await bash('pwd')).toContain(`${fixture.workspace}\n`);
    expect(await bash('pwd', { workdir: 'sub' })).toContain(`${fixture.path('sub')}\n`);
  });

  it('does not run in a folder outside of the workspace', async () => {
    const outcome = await fixture.run('bash', { command: 'pwd', workdir: '..' });
    expect(outcome.error?.code).toBe('OUTSIDE_WORKSPACE');
  });

  it('has a chosen environment with the idempotency key', async () => {
    process.env.SOME_API_KEY = 'secret';
    const names = (await bash('env | cut -d= -f1')).split('\n');
    delete process.env.SOME_API_KEY;
    expect(names).toContain('PATH');
    expect(names).toContain('TURNKEEPER_IDEMPOTENCY_KEY');
    const allowed = /^(PATH|HOME|LANG|LC_\w+|TERM|TMPDIR|USER|SHELL|TZ|TURNKEEPER_\w+|PWD|SHLVL|_|\[exit.*)$/;
    expect(names.filter((name) => !allowed.test(name))).toEqual([]);
  });

  it('has an empty standard input', async () => {
    expect(await bash('cat; echo end')).toBe('end\n[exit code: 0]');
  });

  it('says so when a command is too long to start', async () => {
    const outcome = await fixture.run('bash', { command: `: ${'x'.repeat(200_000)}` });
    expect(outcome.error?.code).toBe('TOOL_ERROR');
    expect(textOf(outcome)).toContain('too long');
  });
});

describe('the end of a command', () => {
  it('comes at once even if a grandchild holds the pipe, and ends the grandchild', async () => {
    const sleep = uniqueSleep();
    expect(await bash(`echo before; ${sleep} & echo after`)).toBe(
      'before\nafter\n[1 process left running and ended]\n[exit code: 0]',
    );
    expect(isCommandAlive(sleep)).toBe(false);
  });

  it('comes with all that was written, though a grandchild goes on writing', async () => {
    const text = await bash(
      `(while :; do echo tick >&2; : > ticked; sleep 0.01; done) &
       until [ -e ticked ]; do sleep 0.01; done
       head -c 3000000 /dev/zero | tr "\\0" x; echo; echo last`,
    );
    expect(text).toMatch(/x\nlast\n\[stderr\]\ntick\n/);
    expect(text).toMatch(/\[\d process(es)? left running and ended\]\n\[exit code: 0\]$/);
  });

  it('comes after a timeout, with the output so far and no process left', async () => {
    const sleep = uniqueSleep();
    const outcome = await fixture.run('bash', { command: `echo begun; ${sleep}`, timeout_ms: 200 });
    expect(textOf(outcome)).toBe('begun\n[timed out after 200 ms]');
    expect(outcome.error?.code).toBe('TOOL_TIMEOUT');
    expect(isCommandAlive(sleep)).toBe(false);
  });

  it('refuses a timeout over ten minutes', async () => {
    const outcome = await fixture.run('bash', { command: 'true', timeout_ms: 600_001 });
    expect(outcome.error?.code).toBe('INVALID_ARGS');
  });
});

describe('an abort of bash', () => {
  const trees: [string, (sleep: string) => string][] = [
    ['a child', (sleep) => sleep],
    ['a grandchild in a session of its own', (sleep) => `setsid ${sleep} & wait`],
    [
      'a grandchild in a session of its own that lost its parent',
      (sleep) => `(setsid ${sleep} &); while :; do read -t 1 <> <(:); done`,
    ],
    ['a grandchild without the marker', (sleep) => `env -i $(command -v setsid) ${sleep} & wait`],
    ['a child that ignores SIGTERM', (sleep) => `trap '' TERM; ${sleep}; ${sleep}`],
    [
      'a child that was stopped',
      (sleep) => `${sleep} & until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!; wait`,
    ],
  ];
  it.each(trees)('ends %s well within two seconds', async (_name, command) => {
    const sleep = uniqueSleep();
    const controller = new AbortController();
    const running = fixture.run('bash', { command: command(sleep) }, { signal: controller.signal });
    await until(() => isCommandAlive(sleep));
    const abortedAt = performance.now();
    controller.abort(new Error('the turn was cancelled'));
    await expect(running).rejects.toThrow('the turn was cancelled');
    expect(performance.now() - abortedAt).toBeLessThan(2000);
    expect(isCommandAlive(sleep)).toBe(false);
  });

  it('before the start starts nothing', async () => {
    const signal = AbortSignal.abort(new Error('the turn was cancelled'));
    await expect(fixture.run('bash', { command: 'touch started' }, { signal })).rejects.toThrow('cancelled');
    await expect(readFile(fixture.path('started'))).rejects.toThrow('ENOENT');
  });
});

describe('what outlived a killed worker', () => {
  it('is ended by its turn, and other turns are left alone', async () => {
    const [mine, other] = [uniqueSleep(), uniqueSleep()];
    const controller = new AbortController();
    const start = (sleep: string, idempotencyKey: string) =>
      fixture
        .run('bash', { command: `setsid ${sleep} & wait` }, { idempotencyKey, signal: controller.signal })
        .catch(() => {});
    const running = [start(mine, `${fixture.key}/3.1.0`), start(other, `${fixture.key}/31.1.0`)];
    await until(() => isCommandAlive(mine) && isCommandAlive(other));
    expect(await killMarkedProcesses(`${fixture.key}/3`)).toBeGreaterThanOrEqual(1);
    expect([isCommandAlive(mine), isCommandAlive(other)]).toEqual([false, true]);
    controller.abort();
    await Promise.all(running);
    expect(isCommandAlive(other)).toBe(false);
  });
});
