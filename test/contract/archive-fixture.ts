/** Files of sessions over a real store: writing them, reading them, and what must be the same before and after. */
import { afterEach, beforeEach } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { SessionEvent } from '../../src/contract/events.js';
import type { SessionId, SessionUid } from '../../src/contract/ids.js';
import { exportLines } from '../../src/store/archive/export-session.js';
import { importSession, type ImportOptions } from '../../src/store/archive/import-session.js';
import type { SessionStore } from '../../src/store/session-store.js';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.js';

export interface Imported {
  readonly uid: SessionUid;
  readonly repaired: Awaited<ReturnType<typeof importSession>>;
}

/** A new store for each test of the file. */
export function useArchive() {
  let sqlite: TemporarySqlite | undefined;
  beforeEach(async () => {
    sqlite = await openTemporarySqlite();
  });
  afterEach(async () => {
    await sqlite?.close();
  });
  const fixture = {
    get sqlite(): TemporarySqlite {
      return sqlite!;
    },
    get store(): SessionStore {
      return sqlite!.store;
    },
    async lines(uid: SessionUid): Promise<AsyncGenerator<string, void, void>> {
      const record = await fixture.store.findSessionByUid(uid);
      return exportLines(fixture.store, record!, '2026-01-01T00:00:00.000Z');
    },
    async exported(uid: SessionUid): Promise<string[]> {
      const lines: string[] = [];
      for await (const line of await fixture.lines(uid)) lines.push(line);
      return lines;
    },
    async imported(
      file: Uint8Array | string | AsyncIterable<Uint8Array>,
      options: Partial<ImportOptions> = {},
    ): Promise<Imported> {
      const uid = uuidv7() as SessionUid;
      const source =
        typeof file === 'string' || file instanceof Uint8Array ? pieces(Buffer.from(file)) : file;
      const repaired = await importSession(fixture.store.archive, source, {
        tenant: 'tenant',
        uid,
        id: uid as unknown as SessionId,
        workspace: '/elsewhere',
        repairs: false,
        ids: { uuid: uuidv7 },
        check: () => undefined,
        ...options,
      });
      return { uid, repaired };
    },
    eventsOf: (uid: SessionUid) => fixture.store.readEvents(uid, { limit: 100_000 }),
    /** Rows of events and blobs that belong to none of these sessions. */
    rowsBeside: (uids: readonly string[]) =>
      fixture.sqlite.sql(
        `select session_uid from (select session_uid from events union all select session_uid from blobs)
          where session_uid not in (${uids.map(() => '?').join()})`,
        uids,
      ),
  };
  return fixture;
}

async function* pieces(bytes: Uint8Array, size = 1000) {
  for (let from = 0; from < bytes.byteLength; from += size) yield bytes.subarray(from, from + size);
}

/** The events with what an import changes taken out: the session's id, and its workspace. */
export function plain(events: readonly SessionEvent[]) {
  return events.map((event) => ({
    ...event,
    sessionId: '',
    data:
      event.type === 'session/created' ? { settings: { ...event.data.settings, workspace: '' } } : event.data,
  }));
}
