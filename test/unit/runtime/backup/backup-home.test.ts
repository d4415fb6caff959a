import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backupHome } from '../../../../src/runtime/backup/backup-home.js';
import type { SessionStore } from '../../../../src/store/session-store.js';
import { framesPath, openSqliteStore } from '../../../../src/store/sqlite/open.js';
import { TestSession, title } from '../../../contract/session-store/store-fixture.js';

let folder: string;
let home: string;
let copy: string;
let stores: SessionStore[];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-backup-')));
  home = join(folder, 'home');
  copy = join(folder, 'copies', 'monday');
  mkdirSync(home, { mode: 0o700 });
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A log with a session in it, open as a server has it. */
async function logAt(path: string): Promise<TestSession> {
  mkdirSync(dirname(path), { recursive: true });
  const store = await openSqliteStore({ path, clock: Date.now });
  stores.push(store);
  const session = await TestSession.create(() => store);
  await session.append(title('copied'));
  return session;
}

/** The title of the session in the log at a path. */
async function titleIn(path: string, { uid }: TestSession): Promise<string | null> {
  const store = await openSqliteStore({ path, clock: Date.now });
  stores.push(store);
  return (await TestSession.of(() => store, uid).state()).title;
}

function damage(file: string): void {
  rmSync(`${file}-wal`, { force: true });
  writeFileSync(file, 'no database '.repeat(1000));
}

describe('a backup of a home', () => {
  it('has the log where the configuration names it, and all else but what a process has for its life', async () => {
    const storeFile = join(home, 'logs', 'all.db');
    const session = await logAt(storeFile);
    new Database(join(home, 'temporal.db')).exec('create table executions (id)').close();
    for (const name of [
      'host-id',
      'turnkeeper.config.yaml',
      'lock.json',
      'server.json',
      'engine.json',
      'engine.log',
    ])
      writeFileSync(join(home, name), name);
    const { databases, leftOut } = await backupHome({ home, storeFile }, copy);
    expect(databases.map(({ name }) => name)).toEqual(['temporal.db', 'logs/all-frames.db', 'logs/all.db']);
    expect(leftOut).toEqual([]);
    expect(readdirSync(copy).sort()).toEqual(['host-id', 'logs', 'temporal.db', 'turnkeeper.config.yaml']);
    expect(readdirSync(join(copy, 'logs')).sort()).toEqual(['all-frames.db', 'all.db']);
    expect(await titleIn(join(copy, 'logs', 'all.db'), session)).toBe('copied');
    expect(statSync(copy).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'copies'))).toEqual(['monday']);
  });

  it('has files as they are: modes, times and links; a folder that is linked into the home is in it', async () => {
    const storeFile = join(home, 'sessions.db');
    await logAt(storeFile);
    const elsewhere = join(folder, 'big-disk');
    mkdirSync(join(elsewhere, 'uid', 'closed'), { recursive: true });
    symlinkSync(elsewhere, join(home, 'workspaces'));
    const script = join(elsewhere, 'uid', 'closed', 'script.sh');
    writeFileSync(script, 'true');
    chmodSync(script, 0o755);
    utimesSync(script, 1_000_000_000, 1_000_000_000);
    chmodSync(dirname(script), 0o555);
    symlinkSync('closed/script.sh', join(elsewhere, 'uid', 'link'));
    execFileSync('mkfifo', [join(elsewhere, 'uid', 'pipe')]);
    await backupHome({ home, storeFile }, copy);
    chmodSync(dirname(script), 0o755);
    const workspace = join(copy, 'workspaces', 'uid');
    expect(readdirSync(workspace).sort()).toEqual(['closed', 'link']);
    expect(readlinkSync(join(workspace, 'link'))).toBe('closed/script.sh');
    expect(statSync(join(workspace, 'closed')).mode & 0o777).toBe(0o555);
    expect(statSync(join(workspace, 'link'))).toMatchObject({ mtimeMs: 1_000_000_000_000 });
    expect(statSync(join(workspace, 'link')).mode & 0o777).toBe(0o755);
    chmodSync(join(workspace, 'closed'), 0o755);
  });

  it('is one cut of a log that is written meanwhile, and leaves out files that go meanwhile', async () => {
    const storeFile = join(home, 'sessions.db');
    const session = await logAt(storeFile);
    const workspace = join(home, 'workspaces', 'uid');
    mkdirSync(workspace, { recursive: true });
    let isCopied = false;
    const write = async () => {
      for (let n = 0; !isCopied; n += 1) {
        await session.append(title(`title ${String(n)}`));
        await new Promise(setImmediate);
      }
    };
    const comeAndGo = async () => {
      for (let n = 0; !isCopied; n += 1) {
        for (let file = 0; file < 50; file += 1)
          writeFileSync(join(workspace, `${String(n)}-${String(file)}`), '');
        await new Promise(setImmediate);
        for (const name of readdirSync(workspace)) rmSync(join(workspace, name));
        await new Promise(setImmediate);
      }
    };
    const work = [write(), comeAndGo()];
    await backupHome({ home, storeFile }, copy).finally(() => {
      isCopied = true;
    });
    await Promise.all(work);
    const store = await openSqliteStore({ path: join(copy, 'sessions.db'), clock: Date.now });
    stores.push(store);
    const copied = await TestSession.of(() => store, session.uid).events();
    const written = await session.events();
    expect(copied.length).toBeGreaterThan(1);
    expect(copied).toEqual(written.slice(0, copied.length));
  });

  it('has a log that lies elsewhere, and nothing of an old one that lies in the home under its name', async () => {
    await logAt(join(home, 'sessions.db'));
    const storeFile = join(folder, 'elsewhere', 'sessions.db');
    const session = await logAt(storeFile);
    const { movedStore } = await backupHome({ home, storeFile }, copy);
    expect(movedStore).toBe('sessions.db');
    expect(readdirSync(copy).sort()).toEqual(['sessions-frames.db', 'sessions.db']);
    expect(await titleIn(join(copy, 'sessions.db'), session)).toBe('copied');
  });

  it('has no damaged database that a server can start without', async () => {
    const storeFile = join(home, 'sessions.db');
    const session = await logAt(storeFile);
    await stores.pop()?.close();
    damage(join(home, 'temporal.db'));
    damage(framesPath(storeFile));
    const { databases, leftOut } = await backupHome({ home, storeFile }, copy);
    expect(databases.map(({ name }) => name)).toEqual(['sessions.db']);
    expect(leftOut).toEqual(['temporal.db', 'sessions-frames.db']);
    expect(readdirSync(copy)).toEqual(['sessions.db']);
    expect(await titleIn(join(copy, 'sessions.db'), session)).toBe('copied');
  });

  it('of a damaged log is refused, and leaves nothing behind', async () => {
    const storeFile = join(home, 'sessions.db');
    damage(storeFile);
    await expect(backupHome({ home, storeFile }, copy)).rejects.toMatchObject({
      name: 'BackupError',
      message: expect.stringContaining('sessions.db is damaged') as string,
    });
    expect(readdirSync(join(folder, 'copies'))).toEqual([]);
  });

  it('is refused in a folder that holds something, or that lies in the home by whatever way', async () => {
    const storeFile = join(home, 'sessions.db');
    await logAt(storeFile);
    mkdirSync(copy, { recursive: true });
    writeFileSync(join(copy, 'file'), 'kept');
    symlinkSync(home, join(folder, 'way'));
    const refused = async (target: string, why: string) => {
      await expect(backupHome({ home, storeFile }, target)).rejects.toMatchObject({
        name: 'BackupError',
        message: expect.stringContaining(why) as string,
      });
    };
    await refused(copy, 'is not empty');
    await refused(join(home, 'copy'), 'lies in the home');
    await refused(join(folder, 'way', 'copy'), 'lies in the home');
    await refused(join(copy, 'file'), 'cannot be used');
    expect(readFileSync(join(copy, 'file'), 'utf8')).toBe('kept');
    expect(existsSync(join(home, 'copy'))).toBe(false);
  });
});
