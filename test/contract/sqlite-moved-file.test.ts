/** A log whose file is taken away under the process that has it. */
import { renameSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { expectCode, TestSession, title } from './session-store/store-fixture.js';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.js';

let open: TemporarySqlite;
afterEach(() => open.close());

it('takes nothing that nobody would find again, and goes on once the file is back', async () => {
  open = await openTemporarySqlite();
  const { store, path } = open;
  const session = await TestSession.create(() => store);
  renameSync(path, `${path}.away`);
  expect(await store.ping()).toBe(false);
  await expectCode(session.append(title('lost')), 'STORE_UNAVAILABLE');
  await expectCode(
    TestSession.create(() => store),
    'STORE_UNAVAILABLE',
  );
  await expectCode(store.saveBlob(session.uid, new Uint8Array(3), 'text/plain'), 'STORE_UNAVAILABLE');
  renameSync(`${path}.away`, path);
  expect(await store.ping()).toBe(true);
  await session.append(title('kept'));
  expect((await session.events()).map(({ type }) => type)).toEqual(['session/created', 'session/title']);
});
