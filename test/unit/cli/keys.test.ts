import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/program.js';
import type { ApiKey } from '../../../src/contract/keys.js';
import { acquireHomeLock } from '../../../src/runtime/home/home-lock.js';
import { isSecretOf, parseKeyToken } from '../../../src/store/key-token.js';
import { openSqliteStore } from '../../../src/store/sqlite/open.js';
import { fakeIo } from './fake-io.js';

let folder: string;
let home: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-keys-')));
  home = join(folder, 'home');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const keys = async (...args: string[]) => {
  const io = fakeIo({ env: { TURNKEEPER_HOME: home, HOME: folder }, cwd: folder });
  return { code: await runCli(['keys', ...args], io), ...io.written };
};
const create = (...args: string[]) => keys('create', '--name', 'ci', '--rights', 'submit,read', ...args);
const list = async (): Promise<ApiKey[]> => {
  const { out } = await keys('list', '--json');
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ApiKey);
};

describe('keys create', () => {
  it('makes the home where there is none, closed to others, and prints the key alone', async () => {
    const { code, out, err } = await create();
    expect(code).toBe(0);
    expect(out).toMatch(/^tk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}\n$/);
    expect(err).toContain('ci');
    expect(err).not.toContain(out.trim());
    expect(statSync(home).mode & 0o077).toBe(0);
  });

  it('keeps the digest of the secret and nothing else of it', async () => {
    const { id, secret } = parseKeyToken((await create()).out.trim())!;
    for (const file of readdirSync(home)) {
      expect(readFileSync(join(home, file)).includes(secret), file).toBe(false);
    }
    const store = await openSqliteStore({ path: join(home, 'sessions.db'), clock: Date.now });
    const kept = await store.keys.find(id);
    await store.close();
    expect(isSecretOf(secret, kept?.secretSha256 ?? '')).toBe(true);
  });

  it('takes all that a key can have', async () => {
    mkdirSync(join(folder, 'work'));
    await create(
      ...['--tenant', 'acme', '--permission', 'full-access', '--workspace-root', 'work'],
      ...['--workspace-root', folder, '--requests-per-minute', '60', '--prompts-per-day', '100'],
    );
    expect(await list()).toMatchObject([
      {
        name: 'ci',
        tenant: 'acme',
        rights: ['submit', 'read'],
        permission: 'full-access',
        workspaceRoots: [join(folder, 'work'), folder],
        requestsPerMinute: 60,
        promptsPerDay: 100,
        revokedAt: null,
        lastUsedAt: null,
      },
    ]);
  });

  it('gives what is not said the narrow way', async () => {
    await create();
    expect(await list()).toMatchObject([
      { tenant: 'default', permission: 'workspace-write', workspaceRoots: [] },
    ]);
  });

  it.each([
    [['create', '--name', 'ci']],
    [['create', '--rights', 'read']],
    [['create', '--name', 'ci', '--rights', 'read,fly']],
    [['create', '--name', 'ci', '--rights', '']],
    [['create', '--name', 'local', '--rights', 'read']],
    [['create', '--name', 'a\nb', '--rights', 'read']],
    [['create', '--name', 'ci', '--rights', 'read', '--tenant', 'a/b']],
    [['create', '--name', 'ci', '--rights', 'read', '--permission', 'root']],
    [['create', '--name', 'ci', '--rights', 'read', '--workspace-root', 'nowhere']],
    [['create', '--name', 'ci', '--rights', 'read', '--prompts-per-day', '0']],
    [['revoke']],
  ])('and its kin refuse %j', async (args) => {
    const { code, out, err } = await keys(...args);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).not.toBe('');
    expect(await list()).toEqual([]);
  });
});

describe('keys list', () => {
  it('shows every key without its secret', async () => {
    const { secret } = parseKeyToken((await create()).out.trim())!;
    const { out } = await keys();
    expect(out).toMatch(/^ID +NAME +TENANT +RIGHTS +PERMISSION +LAST USED +STATE\n/);
    expect(out).toMatch(/\n[a-z0-9]{12} +ci +default +submit,read +workspace-write +never +active\n$/);
    expect(out).not.toContain(secret);
    expect(JSON.stringify(await list())).not.toMatch(/sha256/i);
  });

  it('says what it means that there is none', async () => {
    const { code, out, err } = await keys('list');
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toContain('There are no keys');
  });
});

describe('keys revoke', () => {
  it('ends the key for good, and may be said twice', async () => {
    const { id } = parseKeyToken((await create()).out.trim())!;
    expect(await keys('revoke', id)).toMatchObject({ code: 0, out: `revoked ${id} (ci)\n` });
    const [revoked] = await list();
    expect(revoked?.revokedAt).not.toBeNull();
    expect((await keys('revoke', id)).code).toBe(0);
    expect(await list()).toEqual([revoked]);
    expect((await keys('list')).out).toContain('revoked 2');
  });

  it('says that there is none of this id', async () => {
    const { code, err } = await keys('revoke', 'nobody');
    expect(code).toBe(1);
    expect(err).toContain('turnkeeper keys list');
  });
});

describe('the keys of a home that a server has', () => {
  it('are made and revoked beside it, and its lock and files stay as they are', async () => {
    mkdirSync(home, { mode: 0o700 });
    const lock = acquireHomeLock(home);
    lock.publishServer('http://127.0.0.1:1');
    const store = await openSqliteStore({ path: join(home, 'sessions.db'), clock: Date.now });
    try {
      const before = readFileSync(join(home, 'server.json'), 'utf8');
      const { id } = parseKeyToken((await create()).out.trim())!;
      expect(await store.keys.find(id)).toMatchObject({ name: 'ci', revokedAt: null });
      await keys('revoke', id);
      expect((await store.keys.find(id))?.revokedAt).not.toBeNull();
      expect(readFileSync(join(home, 'server.json'), 'utf8')).toBe(before);
      expect(() => acquireHomeLock(home)).toThrow();
    } finally {
      await store.close();
      lock.release();
    }
  });

  it('are left alone where the server is of another version', async () => {
    await create();
    const database = new Database(join(home, 'sessions.db'));
    database.exec("drop table keys; delete from log_migration where name = '0003-keys'");
    const lock = acquireHomeLock(home);
    try {
      const { code, err } = await create();
      expect(code).toBe(1);
      expect(err).toContain('older version');
      expect(database.prepare("select name from sqlite_master where name = 'keys'").all()).toEqual([]);
    } finally {
      database.close();
      lock.release();
    }
  });
});
