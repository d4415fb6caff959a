/** A process of `sqlite-second-writer.test.ts`: it makes keys in a store that another process has, until it is killed. */
import { newKeyToken, secretDigest } from '../../src/store/key-token.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';

const [path = ''] = process.argv.slice(2);
const store = await openSqliteStore({ path, clock: Date.now, migrates: false });
for (;;) {
  const { id, secret } = newKeyToken();
  await store.keys.create({
    id,
    secretSha256: secretDigest(secret),
    name: 'key',
    tenant: 'tenant',
    rights: ['read'],
    permission: 'read-only',
    workspaceRoots: [],
    requestsPerMinute: null,
    promptsPerDay: null,
  });
  process.stdout.write('made\n');
}
