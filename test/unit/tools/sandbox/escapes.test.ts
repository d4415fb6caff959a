import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canDisableUserNamespaces } from '../../../../src/tools/sandbox/bubblewrap.js';
import { textOf } from '../tool-fixture.js';
import {
  CONFINED,
  createSandboxFixture,
  DETECTED,
  type SandboxFixture,
  sandboxIt,
} from './sandbox-fixture.js';

const SECRET = 'a-secret-of-the-host';

let fixture: SandboxFixture;
let servers: Server[];
/** A process outside of the sandbox, with a secret in its environment. */
let bystander: ChildProcess;
beforeEach(async () => {
  fixture = await createSandboxFixture();
  servers = [];
  bystander = spawn('sleep', ['600'], { env: { ...process.env, HOST_SECRET: SECRET }, stdio: 'ignore' });
  await once(bystander, 'spawn');
});
afterEach(async () => {
  bystander.kill('SIGKILL');
  for (const server of servers) server.close();
  await fixture.remove();
});

/** A server of the host and how many have connected to it. */
async function listen(where: { port: number; host: string } | { path: string }) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.end('reached');
  });
  servers.push(server);
  server.listen(where);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

const connectTo = (target: string) =>
  `"${process.execPath}" -e "require('net').connect(${target}).on('data', (data) => console.log(String(data))).on('error', (error) => console.log(error.code))"`;

describe('a confined command cannot write', () => {
  const attempts: [string, (fixture: SandboxFixture) => string][] = [
    ['a new file outside of the workspace', ({ outside }) => `echo x > ${outside}/new`],
    ['over a file outside of the workspace', ({ outside }) => `echo x > ${outside}/file`],
    [
      'through a symbolic link',
      ({ outside }) => `ln -s ${outside} link; echo x > link/new; echo x > link/file`,
    ],
    ['through a hard link', ({ outside }) => `ln ${outside}/file hard; echo x > hard`],
    [
      'through the root of a process',
      ({ outside }) => `for p in /proc/[0-9]*; do echo x > $p/root${outside}/new; done`,
    ],
    ['after a remount', ({ outside }) => `mount -o remount,rw,bind /; echo x > ${outside}/new`],
    [
      'after a remount in a user namespace of its own',
      ({ outside }) => `unshare -Urm sh -c 'mount -o remount,rw,bind /; echo x > ${outside}/new'`,
    ],
    [
      'by a bind of its own',
      ({ outside }) => `unshare -Urm sh -c 'mount --bind ${outside} . ; echo x > ./new'`,
    ],
    ['by another sandbox', ({ outside }) => `bwrap --dev-bind / / sh -c 'echo x > ${outside}/new'`],
    [
      'in the folder around the workspace',
      ({ home }) => `echo x > ${home}/new; echo x > ${home}/workspaces/new`,
    ],
    ['by removing', ({ outside, home }) => `rm -rf ${outside} ${home}/sessions.db`],
  ];
  sandboxIt.each(attempts)('%s', async (_name, command) => {
    await fixture.bash(command(fixture));
    expect(await readdir(fixture.outside)).toEqual(['file']);
    expect(await readFile(join(fixture.outside, 'file'), 'utf8')).toBe('anybody may read this');
    expect(await readdir(fixture.home)).toEqual(['sessions.db', 'workspaces']);
    expect(await readdir(join(fixture.home, 'workspaces'))).toEqual(['own']);
  });

  sandboxIt('anywhere where the workspace is read-only', async () => {
    const text = await fixture.bash('echo x > file; cat /etc/hostname > /dev/null && echo reads', {
      sandbox: { ...CONFINED, writable: false },
    });
    expect(text).toMatch(/^reads\n\[stderr\]\n.*Read-only file system\n\[exit code: 0\]$/);
    expect(await readdir(fixture.workspace)).toEqual([]);
  });

  sandboxIt('the settings of the kernel', async () => {
    // Writes the value that is there, should it ever get through.
    const text = await fixture.bash(
      'for f in kernel/core_pattern vm/overcommit_memory; do cat /proc/sys/$f > v; cat v > /proc/sys/$f && echo written; done',
    );
    expect(text).not.toContain('written');
    expect(text.match(/Read-only file system/g)).toHaveLength(2);
  });
});

describe('a confined command cannot read', () => {
  const attempts: [string, (fixture: SandboxFixture) => string][] = [
    ['the databases of the home', ({ home }) => `cat ${home}/sessions.db; ls ${home}`],
    ['them through a symbolic link', ({ home }) => `ln -s ${home} link; cat link/sessions.db`],
    ['them through a process', ({ home }) => `cat /proc/[0-9]*/root${home}/sessions.db`],
    ['them from the folder that a process is in', () => 'cat /proc/[0-9]*/cwd/../../sessions.db'],
    [
      'them after an unmount',
      ({ home }) => `umount ${home}; unshare -Urm umount ${home}; cat ${home}/sessions.db`,
    ],
    [
      'them where the home is mounted once more',
      ({ home }) => `unshare -Urm sh -c 'mkdir /tmp/m; mount --bind / /tmp/m; cat /tmp/m${home}/sessions.db'`,
    ],
    [
      'them through an open descriptor',
      () => 'cat /proc/[0-9]*/fd/*/../../sessions.db /proc/[0-9]*/fd/*/sessions.db',
    ],
    [
      'the environment of a process outside',
      () => `cat /proc/[0-9]*/environ | tr '\\0' '\\n'; env; ps axewww`,
    ],
  ];
  sandboxIt.each(attempts)('%s', async (_name, command) => {
    const text = await fixture.bash(`${command(fixture)}; echo done`);
    expect(text).toContain('done\n');
    expect(text).not.toContain('the log');
    expect(text).not.toContain(SECRET);
  });

  sandboxIt('devices and the system, of which only the harmless ones are there', async () => {
    const listed = await fixture.bash('ls -A /dev /run /sys /var/run; mknod d b 254 0; mknod c c 1 1; ls');
    const names = /^\/dev:\n([^]*?)\n\n\/run:\n\n\/sys:\n\n\/var\/run/.exec(listed)?.[1]?.split('\n');
    expect(names).toBeDefined();
    const harmless =
      'console core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero'.split(' ');
    expect(names?.filter((name) => !harmless.includes(name))).toEqual([]);
    expect(await readdir(fixture.workspace)).toEqual([]);
  });
});

describe('a confined command cannot reach', () => {
  sandboxIt('a server of the host', async () => {
    const { port, connections } = await listen({ port: 0, host: '127.0.0.1' });
    const command = `cat < /dev/tcp/127.0.0.1/${String(port)}`;
    expect(await fixture.bash(command)).toContain('Connection refused');
    expect(connections()).toBe(0);
    expect(await fixture.bash(command, { context: { sandbox: null } })).toContain('reached');
  });

  sandboxIt('a socket of the host, wherever it lies', async () => {
    const path = join(fixture.outside, 'service.sock');
    const { connections } = await listen({ path });
    expect(await fixture.bash(connectTo(`'${path}'`))).toMatch(/^E\w+\n/);
    expect(connections()).toBe(0);
    expect(await fixture.bash(connectTo(`'${path}'`), { context: { sandbox: null } })).toContain('reached');
  });

  sandboxIt('a socket of the host without a path', async () => {
    const name = `\\0turnkeeper-${String(process.pid)}`;
    const { connections } = await listen({ path: name.replace('\\0', '\0') });
    const command = connectTo(`'\\\\0${name.slice(2)}'`);
    expect(await fixture.bash(command)).toContain('ECONNREFUSED');
    expect(connections()).toBe(0);
    expect(await fixture.bash(command, { context: { sandbox: null } })).toContain('reached');
  });

  sandboxIt('a process of the host', async () => {
    const pid = String(bystander.pid);
    // Names one process of this test alone: a test of an escape must do no harm where the escape succeeds.
    const text = await fixture.bash(`kill -9 ${pid}; cat /proc/${pid}/status /proc/[0-9]*/comm`);
    expect(text).toContain(`(${pid}) - No such process`);
    expect(text).not.toContain('sleep');
    expect(() => process.kill(Number(pid), 0)).not.toThrow();
    expect(bystander.signalCode).toBeNull();
  });

  sandboxIt('the host through what it inherited', async () => {
    expect(await fixture.bash('echo /proc/self/fd/*; ls /proc/1/fd > /dev/null && echo looked')).toMatch(
      /^(\/proc\/self\/fd\/[0-3] ?)+\nlooked\n/,
    );
    expect(await fixture.bash('grep -E "^(Cap|NoNewPrivs)" /proc/self/status | cut -f2 | sort -u')).toBe(
      '0000000000000000\n1\n[exit code: 0]',
    );
  });

  it.runIf(DETECTED.works && canDisableUserNamespaces(DETECTED))(
    'the kernel as the root of a user namespace',
    async () => {
      expect(await fixture.bash('unshare --user true && echo made')).toMatch(
        /^\[stderr\]\nunshare: .*\n\[exit code: 1\]$/,
      );
    },
  );
});

describe('a workspace that is replaced while the sandbox is set up', () => {
  sandboxIt('leads nowhere else', async () => {
    // Stands in for bubblewrap and is as late as can be: all has been checked, nothing is mounted.
    const { workspace, outside } = fixture;
    const program = join(fixture.folder, 'bwrap');
    const real = DETECTED.works ? DETECTED : { program: '', version: '' };
    await writeFile(
      program,
      `#!/bin/sh\nmv "${workspace}" "${workspace}-moved" && ln -s "${outside}" "${workspace}"\nexec "${real.program}" "$@"\n`,
      { mode: 0o755 },
    );
    await fixture.run(`echo x > new; echo x > ${outside}/new; echo x > ${workspace}/new`, {
      bubblewrap: { program, version: real.version },
    });
    expect(await readdir(outside)).toEqual(['file']);
    expect(await readFile(join(outside, 'file'), 'utf8')).toBe('anybody may read this');
  });

  sandboxIt('by a symbolic link before it is checked is refused', async () => {
    await rename(fixture.workspace, `${fixture.workspace}-moved`);
    await symlink(fixture.outside, fixture.workspace);
    expect((await fixture.run('echo x > new')).error?.code).toBe('OUTSIDE_WORKSPACE');
    expect(await readdir(fixture.outside)).toEqual(['file']);
  });
});

describe('a protected path that cannot be hidden', () => {
  sandboxIt('keeps the command from running', async () => {
    const open = join(fixture.folder, 'open-home');
    await mkdir(open);
    const context = { protectedPaths: [join(fixture.folder, 'gone'), open] };
    const outcome = await fixture.run('touch ran', { context });
    expect(outcome.error?.code).toBe('SANDBOX_UNAVAILABLE');
    expect(textOf(outcome)).toContain('gone has to be hidden');
    expect(await readdir(fixture.workspace)).toEqual([]);
  });

  sandboxIt('may be a file, which is then empty to read', async () => {
    const context = { protectedPaths: [join(fixture.outside, 'file')] };
    const text = await fixture.bash(`cat ${fixture.outside}/file`, { context });
    expect(text).not.toContain('anybody');
  });
});
