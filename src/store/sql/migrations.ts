/**
 * The versions of the schema, in order; each runs once, in a transaction. A database that has a version which this
 * build does not know is refused.
 */
import { sql, Migrator, type Kysely, type Migration } from 'kysely';
import { StoreError } from '../session-store.js';
import { TURN_LIST_MIGRATION } from './turn-list-migration.js';

const LOG_MIGRATIONS: Record<string, Migration> = {
  '0001-session-log': {
    async up(db) {
      await db.schema
        .createTable('sessions')
        .addColumn('uid', 'text', (column) => column.primaryKey())
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('tenant', 'text', (column) => column.notNull())
        .addColumn('body_sha256', 'text', (column) => column.notNull())
        .addColumn('created_at', 'text', (column) => column.notNull())
        .addColumn('updated_at', 'text', (column) => column.notNull())
        .addColumn('open_turn', 'integer')
        .addColumn('cancel_requested', 'integer', (column) => column.notNull().defaultTo(0))
        .addColumn('status', 'text', (column) => column.notNull())
        .addColumn('head_seq', 'integer', (column) => column.notNull())
        .addUniqueConstraint('sessions_by_id', ['tenant', 'id'])
        .execute();
      await sql`create index sessions_open on sessions (updated_at) where open_turn is not null`.execute(db);
      await db.schema
        .createTable('events')
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('seq', 'integer', (column) => column.notNull())
        .addColumn('type', 'text', (column) => column.notNull())
        .addColumn('turn', 'integer')
        .addColumn('step', 'integer')
        .addColumn('key', 'text')
        .addColumn('at', 'text', (column) => column.notNull())
        .addColumn('envelope', 'text')
        .addColumn('data', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('events_by_seq', ['session_uid', 'seq'])
        .execute();
      await sql`create unique index events_by_key on events (session_uid, key) where key is not null`.execute(
        db,
      );
      await db.schema
        .createTable('turns')
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('turn', 'integer', (column) => column.notNull())
        .addColumn('started_at', 'text', (column) => column.notNull())
        .addColumn('ended_at', 'text')
        .addColumn('owner_run_id', 'text')
        .addColumn('owner_started_at', 'bigint')
        .addColumn('request_ids', 'text', (column) => column.notNull())
        .addColumn('summary', 'text')
        .addPrimaryKeyConstraint('turns_by_number', ['session_uid', 'turn'])
        .execute();
      await db.schema
        .createTable('attempts')
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('turn', 'integer', (column) => column.notNull())
        .addColumn('step', 'integer', (column) => column.notNull())
        .addColumn('call', 'integer', (column) => column.notNull())
        .addColumn('attempt', 'integer', (column) => column.notNull())
        .addColumn('run_id', 'text', (column) => column.notNull())
        .addColumn('activity_id', 'text', (column) => column.notNull())
        .addColumn('engine_attempt', 'integer', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('attempts_by_place', ['session_uid', 'turn', 'step', 'call', 'attempt'])
        .execute();
      await db.schema
        .createTable('staged')
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('turn', 'integer', (column) => column.notNull())
        .addColumn('step', 'integer', (column) => column.notNull())
        .addColumn('call', 'integer', (column) => column.notNull())
        .addColumn('data', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('staged_by_place', ['session_uid', 'turn', 'step', 'call'])
        .execute();
      await db.schema
        .createTable('requests')
        .addColumn('scope', 'text', (column) => column.notNull())
        .addColumn('request_id', 'text', (column) => column.notNull())
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('body_sha256', 'text', (column) => column.notNull())
        .addColumn('item_id', 'text', (column) => column.notNull())
        .addColumn('cursor_seq', 'integer', (column) => column.notNull())
        .addColumn('turn', 'integer')
        .addPrimaryKeyConstraint('requests_by_id', ['scope', 'request_id'])
        .execute();
      await db.schema
        .createIndex('requests_by_session')
        .on('requests')
        .columns(['session_uid', 'request_id'])
        .execute();
      await db.schema
        .createTable('blobs')
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('sha256', 'text', (column) => column.notNull())
        .addColumn('media_type', 'text', (column) => column.notNull())
        .addColumn('bytes', 'blob', (column) => column.notNull())
        .addPrimaryKeyConstraint('blobs_by_digest', ['session_uid', 'sha256'])
        .execute();
    },
  },
  '0002-approvals': {
    async up(db) {
      await db.schema
        .createTable('approvals')
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('tenant', 'text', (column) => column.notNull())
        .addColumn('turn', 'integer', (column) => column.notNull())
        .addColumn('step', 'integer', (column) => column.notNull())
        .addColumn('asked_seq', 'integer', (column) => column.notNull())
        .addColumn('closed_seq', 'integer')
        .addPrimaryKeyConstraint('approvals_by_id', ['id', 'session_uid'])
        .execute();
      await db.schema
        .createIndex('approvals_of_session')
        .on('approvals')
        .columns(['session_uid', 'id'])
        .execute();
      await db.schema
        .createIndex('approvals_of_tenant')
        .on('approvals')
        .columns(['tenant', 'kind', 'id'])
        .execute();
    },
  },
  '0003-keys': {
    async up(db) {
      await db.schema
        .createTable('keys')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('tenant', 'text', (column) => column.notNull())
        .addColumn('secret_sha256', 'text', (column) => column.notNull())
        .addColumn('rights', 'text', (column) => column.notNull())
        .addColumn('permission', 'text', (column) => column.notNull())
        .addColumn('workspace_roots', 'text', (column) => column.notNull())
        .addColumn('requests_per_minute', 'integer')
        .addColumn('prompts_per_day', 'integer')
        .addColumn('created_at', 'text', (column) => column.notNull())
        .addColumn('revoked_at', 'text')
        .addColumn('last_used_at', 'text')
        .addColumn('counted_day', 'text')
        .addColumn('counted_prompts', 'integer', (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
  '0004-follow-ups': {
    async up(db) {
      await db.schema
        .createTable('follow_ups')
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('turn', 'integer', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('data', 'text')
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('attempts', 'integer', (column) => column.notNull())
        .addColumn('due_at', 'text')
        .addColumn('done_at', 'text')
        .addPrimaryKeyConstraint('follow_ups_by_turn', ['session_uid', 'turn', 'kind'])
        .execute();
      await sql`create index follow_ups_due on follow_ups (due_at) where state = 'due'`.execute(db);
    },
  },
  '0005-turn-lists': TURN_LIST_MIGRATION,
  '0006-leftovers': {
    async up(db) {
      await db.schema
        .createTable('leftovers')
        .addColumn('session_uid', 'text', (column) => column.primaryKey())
        .addColumn('due_at', 'text', (column) => column.notNull())
        .execute();
      await sql`create index sessions_idle on sessions (updated_at) where open_turn is null`.execute(db);
    },
  },
  '0007-list-indexes': {
    async up(db) {
      await db.schema.createIndex('sessions_of_tenant').on('sessions').columns(['tenant', 'uid']).execute();
      await db.schema
        .createIndex('sessions_by_status')
        .on('sessions')
        .columns(['tenant', 'status', 'uid'])
        .execute();
      await sql`create index approvals_open on approvals (tenant, kind, id) where closed_seq is null`.execute(
        db,
      );
      await db.schema
        .createIndex('turns_by_profile')
        .on('turns')
        .columns(['tenant', 'profile', 'opened_at', 'session_uid', 'turn'])
        .execute();
    },
  },
  '0008-recovery': {
    async up(db) {
      await db.schema.alterTable('events').addColumn('checksum', 'integer').execute();
      await db.schema.alterTable('turns').dropColumn('owner_started_at').execute();
      await db.schema
        .alterTable('turns')
        .addColumn('former_run_ids', 'text', (column) => column.notNull().defaultTo('[]'))
        .execute();
      await db.schema
        .createTable('liveness')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('at', 'text', (column) => column.notNull())
        .execute();
    },
  },
};

const FRAME_MIGRATIONS: Record<string, Migration> = {
  '0001-frames': {
    async up(db) {
      await db.schema
        .createTable('frame_heads')
        .addColumn('session_uid', 'text', (column) => column.primaryKey())
        .addColumn('frame', 'integer', (column) => column.notNull().defaultTo(0))
        .execute();
      await db.schema
        .createTable('frames')
        .addColumn('session_uid', 'text', (column) => column.notNull())
        .addColumn('frame', 'integer', (column) => column.notNull())
        .addColumn('seq', 'integer', (column) => column.notNull())
        .addColumn('turn', 'integer', (column) => column.notNull())
        .addColumn('step', 'integer', (column) => column.notNull())
        .addColumn('call', 'integer', (column) => column.notNull())
        .addColumn('attempt', 'integer', (column) => column.notNull())
        .addColumn('chunk_index', 'integer', (column) => column.notNull())
        .addColumn('chunks', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('frames_by_number', ['session_uid', 'frame'])
        .execute();
    },
  },
};

/** Brings a database of session logs to this build's version. @throws `StoreError` `SCHEMA_TOO_NEW`. */
export async function migrateLog<T>(db: Kysely<T>): Promise<void> {
  await migrate(db, LOG_MIGRATIONS, 'log_migration');
}

/** Brings a database of frames to this build's version. @throws `StoreError` `SCHEMA_TOO_NEW`. */
export async function migrateFrames<T>(db: Kysely<T>): Promise<void> {
  await migrate(db, FRAME_MIGRATIONS, 'frame_migration');
}

/** Leaves the database as it is. @throws `StoreError` `SCHEMA_TOO_NEW`, `SCHEMA_TOO_OLD` where it is not of this build. */
export async function requireCurrentLog<T>(db: Kysely<T>): Promise<void> {
  const applied = await knownMigrations(db, LOG_MIGRATIONS, 'log_migration');
  if (applied.length === Object.keys(LOG_MIGRATIONS).length) return;
  throw new StoreError(
    'SCHEMA_TOO_OLD',
    'The database was made by an older version of Turnkeeper, and a process has it. Stop that, and try again.',
  );
}

async function migrate<T>(
  db: Kysely<T>,
  migrations: Record<string, Migration>,
  table: string,
): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrations) },
    migrationTableName: table,
    migrationLockTableName: `${table}_lock`,
  });
  await knownMigrations(db, migrations, table);
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error instanceof Error ? error : new Error('The migration failed.');
}

/** The names of the migrations that the database has. @throws `StoreError` `SCHEMA_TOO_NEW`, `LOG_CORRUPT`. */
async function knownMigrations<T>(
  db: Kysely<T>,
  migrations: Record<string, Migration>,
  table: string,
): Promise<readonly string[]> {
  const applied = await sql<{ name: string }>`select name from ${sql.table(table)}`
    .execute(db)
    .then(({ rows }) => rows.map(({ name }) => name))
    // The table does not exist before the first migration.
    .catch((): string[] => []);
  const unknown = applied.filter((name) => !Object.hasOwn(migrations, name));
  if (unknown.length > 0) {
    // A newer version has all that this one has.
    if (Object.keys(migrations).some((name) => !applied.includes(name))) {
      throw new StoreError('LOG_CORRUPT', 'The database does not know any more which version made it.');
    }
    throw new StoreError(
      'SCHEMA_TOO_NEW',
      `The database was made by a newer version of Turnkeeper (it has ${unknown.join(', ')}). ` +
        'Start that version, or restore a backup from before the upgrade.',
    );
  }
  return applied;
}
