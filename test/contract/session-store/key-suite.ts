/** What every backend promises of API keys. */
import { describe, expect, it } from 'vitest';
import type { KeyId } from '../../../src/contract/ids.js';
import type { KeyToCreate } from '../../../src/store/key-store.js';
import { useStore, type OpenStore } from './store-fixture.js';

const FIRST = 'aaaaaaaaaaaa' as KeyId;

function keyToCreate(changes: Partial<KeyToCreate> = {}): KeyToCreate {
  return {
    id: FIRST,
    name: 'ci',
    tenant: 'acme',
    secretSha256: 'ab'.repeat(32),
    rights: ['submit', 'read'],
    permission: 'workspace-write',
    workspaceRoots: ['/srv/acme', '/srv/with "quotes"'],
    requestsPerMinute: 60,
    promptsPerDay: null,
    ...changes,
  };
}

export function describeKeys(open: OpenStore): void {
  describe('API keys', () => {
    const fixture = useStore(open);

    it('are found as they were made, also after a new start', async () => {
      const key = keyToCreate();
      const made = await fixture.store.keys.create(key);
      expect(made).not.toHaveProperty('secretSha256');
      for (const restarted of [false, true]) {
        const { keys } = restarted ? await fixture.reopen() : fixture.store;
        expect(await keys.find(FIRST)).toEqual({
          ...key,
          createdAt: made.createdAt,
          revokedAt: null,
          lastUsedAt: null,
        });
        expect(await keys.find('bbbbbbbbbbbb' as KeyId)).toBeUndefined();
        expect(await keys.list()).toEqual([made]);
      }
    });

    it('are never made twice under one id', async () => {
      await fixture.store.keys.create(keyToCreate());
      await expect(fixture.store.keys.create(keyToCreate({ name: 'other' }))).rejects.toThrow();
      expect(await fixture.store.keys.find(FIRST)).toMatchObject({ name: 'ci' });
    });

    it('are revoked for good, and every process sees it at once', async () => {
      const { keys } = fixture.store;
      const beside = await fixture.beside();
      expect(await keys.exist()).toBe(false);
      await keys.create(keyToCreate());
      expect(await beside.keys.find(FIRST)).toMatchObject({ revokedAt: null });
      const revoked = await beside.keys.revoke(FIRST);
      expect(revoked?.revokedAt).not.toBeNull();
      expect(await keys.find(FIRST)).toMatchObject({ revokedAt: revoked?.revokedAt });
      expect(await keys.revoke(FIRST)).toEqual(revoked);
      expect(await keys.revoke('bbbbbbbbbbbb' as KeyId)).toBeUndefined();
      // A server whose last key was revoked must not be open to everybody again.
      expect(await keys.exist()).toBe(true);
    });

    it('remember when they were used last', async () => {
      const { keys } = fixture.store;
      await keys.create(keyToCreate());
      await keys.markUsed(FIRST);
      const key = await keys.find(FIRST);
      expect(Date.parse(key?.lastUsedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(key?.createdAt ?? ''));
    });

    it('have their prompts counted with what they cause, or not at all', async () => {
      await fixture.store.keys.create(keyToCreate());
      const session = await fixture.session();
      const count = (limit: number) =>
        session.transact((transaction) => transaction.countPrompt(FIRST, limit));
      expect([await count(2), await count(2), await count(2)]).toEqual([true, true, false]);
      const failed = session.transact(async (transaction) => {
        await transaction.countPrompt(FIRST, 3);
        throw new Error('refused');
      });
      await expect(failed).rejects.toThrow('refused');
      expect([await count(3), await count(3)]).toEqual([true, false]);
      await fixture.reopen();
      expect(await count(3)).toBe(false);
    });
  });
}
