/**
 * A session as the lines of a file, read piece by piece: its log as it stands when the export begins, with every blob.
 *
 * Keys of the API, addresses and secrets of webhooks, and which process runs what are no part of the log, and so of no
 * file.
 */
import type { SessionUid, Sha256 } from '../../contract/ids.js';
import { StoreError, type SessionRecord, type SessionStore } from '../session-store.js';
import type { ArchivedEvent } from '../archive-store.js';
import { ARCHIVE_FORMAT, ARCHIVE_VERSION, type HeaderEntry } from './archive-entries.js';
import { LineWriter } from './checked-lines.js';

const PAGE_EVENTS = 100;

type ExportStore = Pick<SessionStore, 'archive' | 'readBlob' | 'readState'>;

/**
 * The lines of the session's file, each with its line feed. In memory are a page of events and one blob at a time.
 *
 * @throws `StoreError` `SESSION_NOT_FOUND` where the session is deleted meanwhile, and what reading throws.
 */
export async function* exportLines(
  store: ExportStore,
  { uid, id, createdAt, updatedAt, headSeq }: SessionRecord,
  exportedAt: string,
): AsyncGenerator<string, void, void> {
  const lines = new LineWriter();
  const { title } = await store.readState(uid);
  const header: HeaderEntry = {
    format: ARCHIVE_FORMAT,
    version: ARCHIVE_VERSION,
    session: { id, uid, title, createdAt, updatedAt },
    events: headSeq + 1,
    exportedAt,
  };
  yield lines.line(header);
  const blobs = new PendingBlobs(store, uid, await store.archive.blobs(uid));
  for (let after = -1; after < headSeq;) {
    const page = await store.archive.read(uid, { after, upTo: headSeq, limit: PAGE_EVENTS });
    if (page.length === 0) throw new StoreError('SESSION_NOT_FOUND', `Session ${id} was deleted.`);
    for (const entry of page) {
      for (const sha256 of blobs.namedIn(entry)) yield lines.line(await blobs.take(sha256));
      yield lines.line({ ...entry });
      after = entry.event.seq;
    }
  }
  for (const sha256 of blobs.rest()) yield lines.line(await blobs.take(sha256));
  const { sha256 } = lines;
  yield lines.line({ end: true, events: headSeq + 1, blobs: blobs.taken, sha256 });
}

/** The blobs of a session that are not written yet. */
class PendingBlobs {
  readonly #pending: Set<Sha256>;
  taken = 0;

  constructor(
    private readonly store: ExportStore,
    private readonly uid: SessionUid,
    digests: readonly Sha256[],
  ) {
    this.#pending = new Set(digests);
  }

  /** Those whose digests stand anywhere in the event: in a field of their own, or in a text that tells where to read on. */
  namedIn(entry: ArchivedEvent): Sha256[] {
    if (this.#pending.size === 0) return [];
    const named = JSON.stringify(entry.event.data).match(/[0-9a-f]{64}/g) ?? [];
    return [...new Set(named as Sha256[])].filter((sha256) => this.#pending.has(sha256));
  }

  rest(): Sha256[] {
    return [...this.#pending];
  }

  /** @throws `StoreError` `SESSION_NOT_FOUND`. */
  async take(sha256: Sha256): Promise<{ blob: Sha256; mediaType: string; base64: string }> {
    const blob = await this.store.readBlob(this.uid, sha256);
    if (blob === undefined) throw new StoreError('SESSION_NOT_FOUND', 'The session was deleted.');
    this.#pending.delete(sha256);
    this.taken += 1;
    const { bytes, mediaType } = blob;
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    return { blob: sha256, mediaType, base64 };
  }
}
