import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HomeLockedError } from '../../../../src/runtime/home/home-error.js';
import {
  acquireHomeLock,
  isHomeLocked,
  readLiveServer,
  type HomeLock,
} from '../../../../src/runtime/home/home-lock.js';

const HOLDER = fileURLToPath(new URL('./hold-home-lock.ts', import.meta.url));

let home: string;
let children: ChildProcess[];
let locks: HomeLock[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'turnkeeper-lock-'));
  children = [];
  locks = [];
});
afterEach(async () => {
  locks.forEach((lock) => {
    lock.release();
  });
  await Promise.all(children.map(kill));
  rmSync(home, { recursive: true, force: true });
});

function acquire(): HomeLock {
  const lock = acquireHomeLock(home);
  locks.push(lock);
  return lock;
}

/** Starts a process that wants the home; gives the process and the line that it says. */
async function holder(...args: string[]): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', HOLDER, home, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, line };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

function lockError(): HomeLockedError {
  try {
    acquire();
  } catch (error) {
    if (error instanceof HomeLockedError) return error;
    throw error;
  }
  throw new Error('the home was not locked');
}

describe('the lock of a home', () => {
  it('keeps others out also where its file was removed under it, and not out of a copy of the home', async () => {
    const { child } = await holder('http://127.0.0.1:4711');
    rmSync(join(home, 'lock.db'));
    expect(lockError().holder.pid).toBe(child.pid);
    expect(isHomeLocked(home)).toBe(true);
    expect(readLiveServer(home)?.pid).toBe(child.pid);
    const copy = `${home}-copy`;
    cpSync(home, copy, { recursive: true });
    try {
      acquireHomeLock(copy).release();
    } finally {
      rmSync(copy, { recursive: true });
    }
    await kill(child);
    acquire();
  });

  it('is made anew where its file is no database', () => {
    writeFileSync(join(home, 'lock.db'), 'This is no database. '.repeat(100));
    expect(isHomeLocked(home)).toBe(false);
    acquire();
    expect(isHomeLocked(home)).toBe(true);
  });

  it('tells a second process the pid and the URL of the first, and is free again after a SIGKILL', async () => {
    const url = 'http://127.0.0.1:4711';
    const { child, line } = await holder(url);
    expect(line).toBe('locked');
    expect(isHomeLocked(home)).toBe(true);
    expect(readLiveServer(home)).toMatchObject({ url, pid: child.pid });

    const error = lockError();
    expect(error.code).toBe('HOME_LOCKED');
    expect(error.holder).toMatchObject({ pid: child.pid, url });
    expect(error.message).toContain(`process ${String(child.pid)} at ${url}`);

    await kill(child);
    // What it wrote still lies there, and counts for nothing.
    expect(existsSync(join(home, 'server.json'))).toBe(true);
    expect(readLiveServer(home)).toBeUndefined();
    expect(isHomeLocked(home)).toBe(false);
    acquire();
    expect(existsSync(join(home, 'server.json'))).toBe(false);
  });

  it('lets one of many processes that start at once have the home', async () => {
    const answers = await Promise.all([holder(), holder(), holder()]);
    const lines = answers.map(({ line }) => line);
    expect(lines.filter((line) => line === 'locked')).toHaveLength(1);
    expect(lines.filter((line) => line.includes('is in use by'))).toHaveLength(2);
  });

  it('holds within one process too, and a look at it does not break it', async () => {
    acquire();
    expect(isHomeLocked(home)).toBe(true);
    expect(readLiveServer(home)).toBeUndefined();
    expect(lockError().holder.pid).toBe(process.pid);
    const { line } = await holder();
    expect(line).toContain(`process ${String(process.pid)}`);
  });

  it('is not fooled by files of a dead process whose pid lives again', () => {
    const startedAt = '2026-01-01T00:00:00.000Z';
    const stale = { pid: process.pid, startTime: 'of another process', startedAt };
    writeFileSync(join(home, 'lock.json'), JSON.stringify(stale));
    writeFileSync(
      join(home, 'server.json'),
      JSON.stringify({ url: 'http://x', pid: process.pid, startedAt }),
    );
    expect(readLiveServer(home)).toBeUndefined();
    acquire();
    writeFileSync(join(home, 'lock.json'), JSON.stringify(stale));
    writeFileSync(
      join(home, 'server.json'),
      JSON.stringify({ url: 'http://x', pid: process.pid, startedAt }),
    );
    expect(readLiveServer(home)).toBeUndefined();
  });

  it('publishes the server when it is ready and takes it back at the release', () => {
    const lock = acquireHomeLock(home, () => new Date(0));
    locks.push(lock);
    lock.publishServer('http://127.0.0.1:1');
    const server = { url: 'http://127.0.0.1:1', pid: process.pid, startedAt: '1970-01-01T00:00:00.000Z' };
    expect(JSON.parse(readFileSync(join(home, 'server.json'), 'utf8'))).toEqual(server);
    expect(readLiveServer(home)).toEqual(server);
    lock.release();
    lock.release();
    expect(existsSync(join(home, 'server.json'))).toBe(false);
    expect(isHomeLocked(home)).toBe(false);
  });

  it('takes a folder that is not there, or was never used, for free', () => {
    expect(isHomeLocked(home)).toBe(false);
    expect(readLiveServer(join(home, 'nowhere'))).toBeUndefined();
  });
});
