/** API keys over SQL, on the database of the session log. */
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Clock, KeyId } from '../../contract/ids.js';
import type { ApiKey, KeyRight } from '../../contract/keys.js';
import type { KeyStore, KeyToCreate, StoredKey } from '../key-store.js';
import type { KeysTable, LogTables } from './schema.js';

export class SqlKeyStore implements KeyStore {
  constructor(
    private readonly db: Kysely<LogTables>,
    private readonly options: {
      readonly clock: Clock;
      /** Runs work on the database and translates what it throws. */
      readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
    },
  ) {}

  async create(key: KeyToCreate): Promise<ApiKey> {
    const { id, name, tenant, secretSha256, rights, permission, workspaceRoots } = key;
    const row: Selectable<KeysTable> = {
      id,
      name,
      tenant,
      secret_sha256: secretSha256,
      rights: JSON.stringify(rights),
      permission,
      workspace_roots: JSON.stringify(workspaceRoots),
      requests_per_minute: key.requestsPerMinute,
      prompts_per_day: key.promptsPerDay,
      created_at: this.#now(),
      revoked_at: null,
      last_used_at: null,
      counted_day: null,
      counted_prompts: 0,
    };
    await this.options.guard(() => this.db.insertInto('keys').values(row).execute());
    return shownKey(row);
  }

  async find(id: KeyId): Promise<StoredKey | undefined> {
    const row = await this.options.guard(() =>
      this.db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst(),
    );
    return row === undefined ? undefined : { ...shownKey(row), secretSha256: row.secret_sha256 };
  }

  async list(): Promise<readonly ApiKey[]> {
    const rows = await this.options.guard(() =>
      this.db.selectFrom('keys').selectAll().orderBy('created_at').orderBy('id').execute(),
    );
    return rows.map(shownKey);
  }

  async revoke(id: KeyId): Promise<ApiKey | undefined> {
    await this.options.guard(() =>
      this.db
        .updateTable('keys')
        .set({ revoked_at: this.#now() })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .execute(),
    );
    return this.find(id);
  }

  async exist(): Promise<boolean> {
    const row = await this.options.guard(() =>
      this.db.selectFrom('keys').select('id').limit(1).executeTakeFirst(),
    );
    return row !== undefined;
  }

  async markUsed(id: KeyId): Promise<void> {
    await this.options.guard(() =>
      this.db.updateTable('keys').set({ last_used_at: this.#now() }).where('id', '=', id).execute(),
    );
  }

  #now(): string {
    return new Date(this.options.clock()).toISOString();
  }
}

/** Counts one prompt of a key on a day; false, and uncounted, where its day has as many as it may have. */
export async function countPrompt(
  db: Transaction<LogTables>,
  id: KeyId,
  { day, limit }: { readonly day: string; readonly limit: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('keys')
    .set((column) => ({
      counted_day: day,
      counted_prompts: column
        .case()
        .when('counted_day', '=', day)
        .then(column('counted_prompts', '+', 1))
        .else(1)
        .end(),
    }))
    .where('id', '=', id)
    .where((column) =>
      column.or([
        column('counted_day', 'is', null),
        column('counted_day', '<>', day),
        column('counted_prompts', '<', limit),
      ]),
    )
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

function shownKey(row: Selectable<KeysTable>): ApiKey {
  return {
    id: row.id,
    name: row.name,
    tenant: row.tenant,
    rights: JSON.parse(row.rights) as KeyRight[],
    permission: row.permission,
    workspaceRoots: JSON.parse(row.workspace_roots) as string[],
    requestsPerMinute: row.requests_per_minute,
    promptsPerDay: row.prompts_per_day,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}
