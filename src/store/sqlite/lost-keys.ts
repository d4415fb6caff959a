/**
 * A log that has never had a key is open to everybody, and one that has had a key never is again: a log that may have lost
 * its keys must not look like one that had none.
 */
import type Database from 'better-sqlite3';
import { newKeyToken, secretDigest } from '../key-token.js';

/** Puts a key that is revoked, and whose secret nobody has, where not one is left. */
export function keepClosed(target: Database.Database, at: string): void {
  if (target.prepare('select 1 from keys').get() !== undefined) return;
  const { id, secret } = newKeyToken();
  target
    .prepare(
      `insert into keys
         (id, name, tenant, secret_sha256, rights, permission, workspace_roots, created_at, revoked_at)
       values (?, 'lost-keys', 'lost-keys', ?, '["read"]', 'read-only', '[]', ?, ?)`,
    )
    .run(id, secretDigest(secret), at, at);
}
