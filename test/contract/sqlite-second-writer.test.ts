import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { expectCode, TestSession, title } from './session-store/store-fixture.js';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.js';

const SCRIPT = join(import.meta.dirname, 'create-keys-until-killed.ts');

let open: TemporarySqlite | undefined;
let child: ChildProcess | undefined;
afterEach(async () => {
  if (child !== undefined) {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  await open?.close();
  [open, child] = [undefined, undefined];
});

describe('a store that another process writes keys to', () => {
  it('commits whatever it is given meanwhile', async () => {
    open = await openTemporarySqlite();
    const { store, path } = open;
    const session = await TestSession.create(() => store);
    child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let made = 0;
    child.stdout?.on('data', (part: Buffer) => (made += part.toString('utf8').split('\n').length - 1));
    let committed = 0;
    while (made < 20) {
      await session.transact(async (transaction) => {
        // Between its read and its write a transaction may take its time.
        for (let turn = 0; turn < 5; turn += 1) await setImmediate();
        await transaction.append([title(`title ${String(committed)}`)]);
      });
      committed += 1;
      // The other one has no queue: it comes in where nobody is.
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    }
    expect((await store.keys.list()).length).toBeGreaterThanOrEqual(20);
    expect((await session.events()).length).toBe(committed + 1);
  }, 60_000);

  it('keeps its schema from a command of another version', async () => {
    open = await openTemporarySqlite();
    open.sql("delete from log_migration where name = '0003-keys'");
    const beside = () => openSqliteStore({ path: open?.path ?? '', clock: Date.now, migrates: false });
    await expectCode(beside(), 'SCHEMA_TOO_OLD');
    open.sql("insert into log_migration values ('0003-keys', '2030-01-01T00:00:00.000Z')");
    open.sql("insert into log_migration values ('9999-later', '2030-01-01T00:00:00.000Z')");
    await expectCode(beside(), 'SCHEMA_TOO_NEW');
  });
});
