import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolError } from '../../../src/tools/tool.js';
import { openChecked, resolveExisting } from '../../../src/tools/workspace-paths.js';
import { createToolFixture, textOf, type ToolFixture } from './tool-fixture.js';

let fixture: ToolFixture;
let outside: string;
beforeEach(async () => {
  fixture = await createToolFixture({
    // The home folder holds the workspace, and the workspace holds something protected.
    protectedPaths: (folder) => [folder, join(folder, 'workspace', 'private')],
  });
  outside = join(fixture.folder, 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), 'secret\n');
});
afterEach(() => fixture.remove());

const read = (path: string) => fixture.run('read', { file_path: path });
const write = (path: string, content = 'new') => fixture.run('write', { file_path: path, content });

describe('a path that leads outside of the workspace', () => {
  const escapes: [
    string,
    (setUp: { outside: string; path: (name: string) => string }) => Promise<string> | string,
  ][] = [
    ['with ..', () => '../outside/secret.txt'],
    ['with .. in its middle', () => 'a/../../outside/secret.txt'],
    ['as an absolute path', ({ outside: folder }) => join(folder, 'secret.txt')],
    ['to what only begins like the workspace', ({ path }) => `${path('')}-other/file`],
    ['to nothing', () => '../outside/missing.txt'],
    ['to /proc', () => '/proc/self/environ'],
    ['to a device', () => '/dev/zero'],
    [
      'by a link to a file',
      async ({ outside: folder, path }) => {
        await symlink(join(folder, 'secret.txt'), path('link'));
        return 'link';
      },
    ],
    [
      'by a link to a folder',
      async ({ path }) => {
        await symlink('../outside', path('link'));
        return 'link/secret.txt';
      },
    ],
    [
      'by a link to a link',
      async ({ outside: folder, path }) => {
        await symlink(folder, path('first'));
        await symlink('first', path('second'));
        return 'second/secret.txt';
      },
    ],
    [
      'by a link to the folder of this process',
      async ({ path }) => {
        await symlink('/proc/self/root', path('link'));
        return `link${outside}/secret.txt`;
      },
    ],
    ['to a protected path in it', () => 'private/key'],
  ];

  it.each(escapes)('%s is neither read, written, edited, listed nor searched', async (_name, make) => {
    await mkdir(fixture.path('private'));
    await writeFile(fixture.path('private', 'key'), 'secret\n');
    const path = await make({ outside, path: fixture.path });
    const outcomes = [
      await read(path),
      await write(path),
      await fixture.run('edit', { file_path: path, old_string: 'secret', new_string: 'new' }),
      await fixture.run('glob', { pattern: '*', path }),
      await fixture.run('grep', { pattern: 'secret', path }),
      await fixture.run('bash', { command: 'true', workdir: path }),
    ];
    expect(outcomes.map(({ error }) => error?.code)).toEqual(outcomes.map(() => 'OUTSIDE_WORKSPACE'));
    expect(outcomes.map(textOf).join('\n')).not.toMatch(/secret\n/);
    expect(await readdir(outside)).toEqual(['secret.txt']);
  });

  it('is not found by a search of what is around it', async () => {
    await mkdir(fixture.path('private'));
    await writeFile(fixture.path('private', 'key'), 'secret\n');
    await symlink(outside, fixture.path('link'));
    expect(textOf(await fixture.run('glob', { pattern: '**' }))).toBe('[no file fits]');
    expect(textOf(await fixture.run('grep', { pattern: 'secret' }))).toBe('[no match]');
  });

  it('is not written through a link that leads to nothing', async () => {
    await symlink(join(outside, 'new.txt'), fixture.path('link'));
    expect((await write('link')).isError).toBe(true);
    await symlink(join(outside, 'folder'), fixture.path('folder'));
    expect((await write('folder/new.txt')).isError).toBe(true);
    expect(await readdir(outside)).toEqual(['secret.txt']);
  });
});

describe('a path inside of the workspace', () => {
  it('may be absolute, or lead over links that stay inside', async () => {
    await mkdir(fixture.path('real'));
    await symlink('real', fixture.path('link'));
    expect((await write('link/a.txt', 'hello\n')).isError).toBe(false);
    expect(textOf(await read(fixture.path('real', 'a.txt')))).toContain('hello');
  });

  it('may have line breaks and other odd characters in it', async () => {
    const name = 'odd\n"name"\t-*?[x]{y}\\ 漢 😀';
    expect(textOf(await write(name, 'hello\n'))).toContain(JSON.stringify(name));
    expect(textOf(await read(name))).toContain('1\thello');
    expect(textOf(await fixture.run('glob', { pattern: 'odd*' }))).toBe(
      `${JSON.stringify(name)}\n[1 file, the newest first]`,
    );
    expect(textOf(await fixture.run('grep', { pattern: 'hello' }))).toBe(
      `${JSON.stringify(name)}:1:hello\n[1 match]`,
    );
  });

  it('is refused with a NUL in it', async () => {
    expect((await read('a\0b')).error?.code).toBe('INVALID_ARGS');
  });

  it.each(['read', 'grep'])('that is missing is FS_NOT_FOUND for %s', async (tool) => {
    const args = tool === 'read' ? { file_path: 'none/none.txt' } : { pattern: 'a', path: 'none/none.txt' };
    expect((await fixture.run(tool, args)).error?.code).toBe('FS_NOT_FOUND');
  });
});

describe('what is not a regular file', () => {
  it('is told by its kind and never blocks', async () => {
    await mkdir(fixture.path('folder'));
    execFileSync('mkfifo', [fixture.path('fifo')]);
    const server = createServer().listen(fixture.path('socket'));
    await once(server, 'listening');
    expect(textOf(await read('folder'))).toBe(
      'Error: folder is a folder, not a file. Use glob to list what is in it.',
    );
    expect(textOf(await read('fifo'))).toBe('Error: fifo is a named pipe, not a file.');
    expect(textOf(await read('socket'))).toBe('Error: socket is a socket, not a file.');
    expect(textOf(await write('fifo'))).toContain('is a named pipe');
    expect(textOf(await write('folder'))).toContain('is a folder');
    expect(textOf(await write('.'))).toContain('is a folder');
    server.close();
  });

  it.skipIf(process.getuid?.() !== 0)('is told for a device in the workspace', async () => {
    execFileSync('mknod', [fixture.path('device'), 'c', '1', '5']);
    expect(textOf(await read('device'))).toBe('Error: device is a device, not a file.');
  });

  it('is refused where links lead in a circle', async () => {
    await symlink('b', fixture.path('a'));
    await symlink('a', fixture.path('b'));
    expect(textOf(await read('a'))).toContain('symbolic links that lead in a circle');
  });
});

describe('a huge file', () => {
  it('is refused before it is read', async () => {
    await writeFile(fixture.path('huge'), '');
    await truncate(fixture.path('huge'), 300 * 1024 * 1024);
    for (const outcome of [await read('huge'), await write('huge')]) {
      expect(textOf(outcome)).toContain('huge has 314572800 bytes; at most');
    }
  });
});

describe('a path that is swapped between the check and the use', () => {
  const scope = () => ({ workspace: fixture.workspace, protectedPaths: [] });
  const openAgain = (real: string) => openChecked(real, { scope: scope(), asked: 'asked', wanted: 'file' });

  it('is refused where the file became a link', async () => {
    await writeFile(fixture.path('a.txt'), 'mine');
    const real = await resolveExisting('a.txt', scope());
    await rm(real);
    await symlink(join(outside, 'secret.txt'), real);
    await expect(openAgain(real)).rejects.toMatchObject({ code: 'OUTSIDE_WORKSPACE' });
  });

  it('is refused where its folder became a link', async () => {
    await mkdir(fixture.path('folder'));
    await writeFile(fixture.path('folder', 'secret.txt'), 'mine');
    const real = await resolveExisting('folder/secret.txt', scope());
    await rename(fixture.path('folder'), fixture.path('moved'));
    await symlink(outside, fixture.path('folder'));
    await expect(openAgain(real)).rejects.toBeInstanceOf(ToolError);
    await expect(openAgain(real)).rejects.toMatchObject({ code: 'OUTSIDE_WORKSPACE' });
  });

  /** Swaps the folder for a link to the outside and back, as fast as a shell can, while `use` runs. */
  async function whileSwapping(use: () => Promise<void>): Promise<void> {
    const swap =
      'trap exit TERM; while :; do mv folder moved; ln -s ../outside folder; rm folder; mv moved folder; done';
    await mkdir(fixture.path('folder'));
    await writeFile(fixture.path('folder', 'secret.txt'), 'mine\n');
    const swapper = spawn('bash', ['-c', swap], { cwd: fixture.workspace, stdio: 'ignore' });
    try {
      await use();
    } finally {
      // Ends with the program that it runs: none writes any more then.
      swapper.kill('SIGTERM');
      await once(swapper, 'exit');
    }
  }

  it('never lets a read through, however often it is swapped', async () => {
    const texts: string[] = [];
    await whileSwapping(async () => {
      while (texts.length < 300 || !texts.some((text) => text.includes('\tmine'))) {
        texts.push(textOf(await read('folder/secret.txt')));
        texts.push(textOf(await fixture.run('grep', { pattern: 'e', path: 'folder' })));
      }
    });
    expect(texts.filter((text) => /\tsecret|:1:secret/.test(text))).toEqual([]);
  });

  it('never lets a write through, however often it is swapped', async () => {
    await whileSwapping(async () => {
      for (let round = 0; round < 150; round += 1) await write(`folder/sub/${String(round)}.txt`);
    });
    expect(await readdir(outside)).toEqual(['secret.txt']);
  });
});
