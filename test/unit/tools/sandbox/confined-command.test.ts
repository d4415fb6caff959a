import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLocalExecutionProvider } from '../../../../src/tools/local/local-execution-provider.js';
import { killMarkedProcesses, orphanedCommands } from '../../../../src/tools/local/process-tree.js';
import { bubblewrapVersion } from '../../../../src/tools/sandbox/bubblewrap.js';
import { isCommandAlive, uniqueSleep } from '../../../support/processes.js';
import { textOf, until } from '../tool-fixture.js';
import {
  CONFINED,
  createSandboxFixture,
  DETECTED,
  type SandboxFixture,
  sandboxIt,
} from './sandbox-fixture.js';

let fixture: SandboxFixture;
beforeEach(async () => {
  fixture = await createSandboxFixture();
});
afterEach(() => fixture.remove());

const isRoot = process.getuid?.() === 0;

describe('a confined command', () => {
  sandboxIt('runs in the workspace, or in a folder of it, and writes there', async () => {
    await mkdir(join(fixture.workspace, 'sub'));
    expect(await fixture.bash('pwd; echo text > file')).toBe(`${fixture.workspace}\n[exit code: 0]`);
    expect(await fixture.bash('pwd', { args: { workdir: 'sub' } })).toContain(`${fixture.workspace}/sub\n`);
    expect(await readFile(join(fixture.workspace, 'file'), 'utf8')).toBe('text\n');
  });

  sandboxIt('has a fresh folder for temporary files', async () => {
    expect(await fixture.bash('mktemp; echo kept > /tmp/kept; df --output=target $TMPDIR')).toMatch(
      /^\/tmp\/tmp\.\S+\nMounted on\n\/tmp\n\[exit code: 0\]$/,
    );
    expect(await fixture.bash('cat /tmp/kept; ls -A /tmp')).toContain('No such file');
  });

  sandboxIt('has the chosen environment with its marker, and is the same user', async () => {
    const text = await fixture.bash('echo $TURNKEEPER_COMMAND; echo $TURNKEEPER_IDEMPOTENCY_KEY; id -u');
    expect(text).toMatch(
      new RegExp(`^(\\S+/1\\.1\\.\\d+)\\n\\1\\n${String(process.getuid?.())}\\n\\[exit code: 0\\]$`),
    );
  });

  sandboxIt('may use its own loopback, standard streams and null device', async () => {
    const serve = `require('net').createServer().listen(0, '127.0.0.1', function () { console.log('listens'); this.close(); })`;
    expect(await fixture.bash(`"${process.execPath}" -e "${serve}" | tee /dev/stderr 2> /dev/null`)).toBe(
      'listens\n[exit code: 0]',
    );
    expect(await fixture.bash('cat')).toBe('[exit code: 0]');
  });

  it.runIf(DETECTED.works && isRoot)('works for an ordinary user', async ({ skip }) => {
    const [bwrap, asUser] = [join(fixture.folder, 'bwrap'), join(fixture.folder, 'bwrap-as-user')];
    await copyFile(DETECTED.works ? DETECTED.program : '', bwrap);
    const runs = await bubblewrapVersion(bwrap).catch(() => undefined);
    skip(runs === undefined, 'This bubblewrap runs from its own folder only, which others may not enter.');
    await writeFile(
      asUser,
      `#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "${bwrap}" "$@"\n`,
    );
    await chmod(asUser, 0o755);
    await chown(fixture.workspace, 65534, 65534);
    const bubblewrap = { program: asUser, version: DETECTED.works ? DETECTED.version : '' };
    const text = await fixture.bash(
      `id -u; echo text > file; ls ${fixture.home}; cat ${fixture.home}/sessions.db; ${uniqueSleep()} &`,
      { bubblewrap },
    );
    expect(text).toMatch(/^65534\nworkspaces\n\[stderr\]\ncat: .* No such file.*\n\[1 process left running/);
    expect(await readFile(join(fixture.workspace, 'file'), 'utf8')).toBe('text\n');
  });
});

describe('the result of a confined command', () => {
  sandboxIt.each([
    ['true', '[exit code: 0]'],
    ['exit 7', '[exit code: 7]'],
    ['echo out; echo err >&2; exit 129', 'out\n[stderr]\nerr\n[exit code: 129]'],
    ['no-such-program', '[stderr]\nbash: line 1: no-such-program: command not found\n[exit code: 127]'],
    ['exit 137', '[exit code: 137]'],
    ['kill -SEGV $$', '[killed by signal SIGSEGV]'],
    ['kill -KILL $$', '[killed by signal SIGKILL]'],
    ['kill -TERM $$', '[killed by signal SIGTERM]'],
    ['kill -USR1 $$', '[killed by signal SIGUSR1]'],
  ])('of %s is as without the sandbox', async (command, expected) => {
    const execution = createLocalExecutionProvider();
    expect(await fixture.bash(command, { context: { execution, sandbox: null } })).toBe(expected);
    expect(await fixture.bash(command)).toBe(expected);
  });

  sandboxIt('has the output of each of many short commands', async () => {
    const runs = Array.from({ length: 20 }, (_, index) => fixture.bash(`echo ${String(index)}`));
    expect(await Promise.all(runs)).toEqual(runs.map((_, index) => `${String(index)}\n[exit code: 0]`));
  });

  sandboxIt('comes at once even if grandchildren hold the pipe, counts them and ends them', async () => {
    const [first, second] = [uniqueSleep(), uniqueSleep()];
    expect(await fixture.bash(`${first} & (setsid ${second} &); echo done`)).toBe(
      'done\n[2 processes left running and ended]\n[exit code: 0]',
    );
    await until(() => !isCommandAlive(first) && !isCommandAlive(second));
  });

  sandboxIt('comes after a timeout, with the output so far and no process left', async () => {
    const sleep = uniqueSleep();
    const outcome = await fixture.run(`echo begun; ${sleep}`, { args: { timeout_ms: 300 } });
    expect(textOf(outcome)).toBe('begun\n[timed out after 300 ms]');
    expect(isCommandAlive(sleep)).toBe(false);
  });

  sandboxIt('is an error where bubblewrap cannot set the sandbox up', async () => {
    const program = join(fixture.folder, 'bwrap');
    await writeFile(program, '#!/bin/sh\necho "bwrap: no room" >&2\nexit 1\n', { mode: 0o755 });
    const outcome = await fixture.run('touch ran', { bubblewrap: { program, version: '0.8.0' } });
    expect(outcome.error?.code).toBe('SANDBOX_UNAVAILABLE');
    expect(textOf(outcome)).toContain('could not be set up. bwrap: no room');
    await expect(readFile(join(fixture.workspace, 'ran'))).rejects.toThrow('ENOENT');
  });
});

describe('without a sandbox', () => {
  sandboxIt('a command that needs none runs on the host', async () => {
    const text = await fixture.bash(`echo text > ${fixture.outside}/new`, { context: { sandbox: null } });
    expect(text).toBe('[exit code: 0]');
    expect(await readFile(join(fixture.outside, 'new'), 'utf8')).toBe('text\n');
  });

  sandboxIt('a command that needs one is refused', async () => {
    const context = { execution: createLocalExecutionProvider(), sandbox: CONFINED };
    const outcome = await fixture.run('touch ran', { context });
    expect(outcome.error?.code).toBe('SANDBOX_UNAVAILABLE');
    await expect(readFile(join(fixture.workspace, 'ran'))).rejects.toThrow('ENOENT');
  });
});

describe('the end of all that a confined command started', () => {
  const trees: [string, (sleep: string) => string][] = [
    ['a child', (sleep) => sleep],
    [
      'a grandchild in a session of its own that lost its parent',
      (sleep) => `(setsid ${sleep} &); sleep 100`,
    ],
    ['a grandchild without the marker', (sleep) => `env -i $(command -v setsid) ${sleep} & wait`],
    ['a child that ignores SIGTERM', (sleep) => `trap '' TERM; ${sleep}; ${sleep}`],
    [
      'a child of a command that killed the shell around it',
      (sleep) => `(setsid ${sleep} &); kill -STOP $PPID; sleep 100`,
    ],
  ];
  sandboxIt.each(trees)('comes with an abort within two seconds: %s', async (_name, command) => {
    const sleep = uniqueSleep();
    const controller = new AbortController();
    const running = fixture.run(command(sleep), { context: { signal: controller.signal } });
    await until(() => isCommandAlive(sleep));
    const abortedAt = performance.now();
    controller.abort(new Error('the turn was cancelled'));
    await expect(running).rejects.toThrow('the turn was cancelled');
    expect(performance.now() - abortedAt).toBeLessThan(2000);
    expect(isCommandAlive(sleep)).toBe(false);
  });

  sandboxIt('leaves the command time to tidy up', async () => {
    const controller = new AbortController();
    const tidy = `trap 'sleep 0.02; echo tidied > tidied; exit' TERM; touch ready; sleep 100 & wait`;
    const running = fixture.run(`(${tidy}) & wait`, { context: { signal: controller.signal } });
    const written = (name: string) => readFile(join(fixture.workspace, name), 'utf8').catch(() => undefined);
    await until(async () => (await written('ready')) !== undefined);
    controller.abort(new Error('the turn was cancelled'));
    await expect(running).rejects.toThrow('the turn was cancelled');
    expect(await written('tidied')).toBe('tidied\n');
  });

  sandboxIt('can be brought about by its marker', async () => {
    const [sleep, idempotencyKey] = [uniqueSleep(), `marked-${String(process.pid)}/1.1.0`];
    const running = fixture.run(`(setsid ${sleep} &); sleep 100`, { context: { idempotencyKey } });
    await until(() => isCommandAlive(sleep));
    expect(orphanedCommands()).not.toContain(idempotencyKey);
    await killMarkedProcesses(idempotencyKey);
    expect(isCommandAlive(sleep)).toBe(false);
    expect(textOf(await running)).toMatch(/^\[killed by signal SIG(TERM|KILL)\]$/);
  });

  sandboxIt('comes with a worker that is killed', async () => {
    const sleep = uniqueSleep();
    const worker = spawn(
      process.execPath,
      [
        ...['--import', 'tsx', fileURLToPath(new URL('./confined-worker.ts', import.meta.url))],
        JSON.stringify({
          workspace: fixture.workspace,
          command: `(setsid ${sleep} &); sleep 100`,
          bubblewrap: DETECTED,
        }),
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    await until(() => isCommandAlive(sleep));
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    await until(() => !isCommandAlive(sleep));
  });
});
