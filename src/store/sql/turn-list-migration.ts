/** The columns and the table that lists of turns are made from, filled for the turns and sessions that are there. */
import { sql, type Kysely, type Migration } from 'kysely';
import type { SessionSettings } from '../../contract/session.js';

export const TURN_LIST_MIGRATION: Migration = {
  async up(db) {
    for (const column of ['tenant', 'opened_at', 'profile']) {
      await db.schema
        .alterTable('turns')
        .addColumn(column, 'text', (definition) => definition.notNull().defaultTo(''))
        .execute();
    }
    await sql`update turns set opened_at = started_at, tenant = (
      select sessions.tenant from sessions where sessions.uid = turns.session_uid)`.execute(db);
    await db.schema
      .createIndex('turns_of_tenant')
      .on('turns')
      .columns(['tenant', 'opened_at', 'session_uid', 'turn'])
      .execute();
    await db.schema
      .createIndex('turns_by_start')
      .on('turns')
      .columns(['tenant', 'started_at', 'opened_at'])
      .execute();
    await sql`create index turns_open on turns (tenant, opened_at, session_uid, turn)
      where ended_at is null`.execute(db);
    await db.schema
      .createTable('session_metadata')
      .addColumn('session_uid', 'text', (column) => column.notNull())
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('value', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('metadata_of_session', ['session_uid', 'key'])
      .execute();
    await db.schema
      .createIndex('sessions_by_metadata')
      .on('session_metadata')
      .columns(['key', 'value', 'session_uid'])
      .execute();
    await fill(db as Kysely<FilledTables>);
  },
};

interface FilledTables {
  events: { session_uid: string; seq: number; type: string; data: string };
  turns: { session_uid: string; profile: string };
  session_metadata: { session_uid: string; key: string; value: string };
}

/** The profile of an earlier turn is taken to be the one that its session has now. */
async function fill(db: Kysely<FilledTables>): Promise<void> {
  const rows = await db
    .selectFrom('events')
    .select(['session_uid', 'type', 'data'])
    .where('type', 'in', ['session/created', 'session/settings'])
    .orderBy('session_uid')
    .orderBy('seq')
    .execute();
  const sessions = new Map<string, Partial<SessionSettings>>();
  for (const { session_uid: uid, type, data } of rows) {
    const event = JSON.parse(data) as {
      settings?: Partial<SessionSettings>;
      changes?: Partial<SessionSettings>;
    };
    sessions.set(uid, {
      ...sessions.get(uid),
      ...(type === 'session/created' ? event.settings : event.changes),
    });
  }
  for (const [uid, { profile = 'default', metadata = {} }] of sessions) {
    await db.updateTable('turns').set({ profile }).where('session_uid', '=', uid).execute();
    for (const [key, value] of Object.entries(metadata)) {
      await db.insertInto('session_metadata').values({ session_uid: uid, key, value }).execute();
    }
  }
}
