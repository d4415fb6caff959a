/**
 * A file of a session becomes a session: read line by line, checked event by event, and visible only once it is whole.
 *
 * Owns what is checked and what becomes of a file that was cut, or of a turn that was open in it. An import is a new
 * session with the old facts: its uid is new, and its workspace is the one that it is given here, so that no file names a
 * folder of this machine.
 */
import type { z } from 'zod';
import {
  EVENT_SCHEMAS,
  isEventType,
  type EventData,
  type NewEvent,
  type SessionEvent,
} from '../../contract/events.js';
import { sessionIdSchema, type IdSource, type SessionId, type SessionUid } from '../../contract/ids.js';
import { repairEvents } from '../../core/repair.js';
import { evolve, INITIAL_STATE, type SessionState } from '../../core/session-state.js';
import type { ArchivedEvent, ArchiveStore, SessionImport } from '../archive-store.js';
import { StoreError, type LogTransaction } from '../session-store.js';
import { turnOutput } from '../turn-output.js';
import { ArchiveDamage } from './archive-damage.js';
import {
  ARCHIVE_FORMAT,
  ARCHIVE_VERSION,
  blobEntrySchema,
  endEntrySchema,
  eventEntrySchema,
  headerEntrySchema,
  type HeaderEntry,
} from './archive-entries.js';
import { blobsOfEvent } from './blobs-of-event.js';
import { LineReader, linesOf, LineTooLong } from './checked-lines.js';

/** The longest line: a blob of an upload, in base64, with room to spare. */
const LINE_LIMIT_BYTES = 64 * 1024 * 1024;
/** As much is added in one transaction, so that other sessions never wait long. */
const BATCH = { events: 200, bytes: 2 * 1024 * 1024 };

export interface ImportOptions {
  readonly tenant: string;
  readonly uid: SessionUid;
  /** Default: the file's. */
  readonly id?: SessionId | undefined;
  readonly workspace: string;
  /** Opens a file that was cut or damaged up to where it is whole. */
  readonly repairs: boolean;
  readonly ids: IdSource;
  /** The caller's own word about the session, in its last transaction; what it throws ends the import. */
  readonly check: (state: SessionState) => void;
}

/**
 * Imports a file. A turn that is open in it is closed; input that waits stays. Returns what `session/repaired` says where
 * the session is not as it was, else null.
 *
 * @throws ArchiveDamage, `StoreError` `SESSION_CONFLICT`, and what `source` and `check` throw; nothing of the session is
 *   left then.
 */
export async function importSession(
  archive: ArchiveStore,
  source: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<EventData<'session/repaired'> | null> {
  const file = new ImportedFile(archive, options);
  try {
    const damage = await file.readAll(source).then(() => undefined, damageOf);
    if (damage !== undefined && !(options.repairs && file.hasEvents)) throw damage;
    return await file.commit(damage);
  } catch (error) {
    await file.abandon();
    throw error;
  }
}

function damageOf(error: unknown): ArchiveDamage {
  if (error instanceof ArchiveDamage) return error;
  throw error;
}

class ImportedFile {
  readonly #reader = new LineReader();
  readonly #blobs = new Set<string>();
  #line = 0;
  #header: HeaderEntry | undefined;
  #import: SessionImport | undefined;
  #state = INITIAL_STATE;
  #pending: ArchivedEvent[] = [];
  #pendingBytes = 0;
  #isOver = false;

  constructor(
    private readonly archive: ArchiveStore,
    private readonly options: ImportOptions,
  ) {}

  get hasEvents(): boolean {
    return this.#state.headSeq >= 0;
  }

  /** @throws ArchiveDamage where the file is not whole; the events before it are taken. */
  async readAll(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const { bytes, isWhole } of linesOf(source, LINE_LIMIT_BYTES)) {
        this.#line += 1;
        if (!isWhole) throw this.#damage('ends in the middle: the file was cut');
        await this.#take(bytes);
      }
    } catch (error) {
      if (!(error instanceof LineTooLong)) throw error;
      this.#line += 1;
      throw this.#damage('is longer than any line of such a file');
    }
    this.#line += 1;
    if (!this.#isOver) throw this.#damage('is missing: the file was cut before it');
  }

  async commit(damage: ArchiveDamage | undefined): Promise<EventData<'session/repaired'> | null> {
    await this.#flush();
    const lost = (this.#header?.events ?? 0) - (this.#state.headSeq + 1);
    let repairs: readonly NewEvent[] = [];
    await this.#import?.commit(async (transaction) => {
      this.options.check(transaction.state);
      repairs = await this.#repairs(transaction, damage, Math.max(0, lost));
      await transaction.append(repairs);
    });
    const last = repairs.at(-1);
    return last?.type === 'session/repaired' ? last.data : null;
  }

  async abandon(): Promise<void> {
    await this.#import?.abandon();
  }

  async #take(bytes: Uint8Array): Promise<void> {
    if (this.#isOver) throw this.#damage('stands after the last line');
    const { sha256 } = this.#reader;
    const value = this.#reader.read(bytes);
    if (this.#header === undefined) return this.#begin(value, bytes);
    if (value === undefined) throw this.#damage('is damaged: it is not as it was written');
    if ('event' in value) return this.#takeEvent(value, bytes.byteLength);
    if ('blob' in value) return this.#takeBlob(value);
    this.#end(this.#checked(endEntrySchema, value), sha256);
  }

  async #begin(value: Readonly<Record<string, unknown>> | undefined, bytes: Uint8Array): Promise<void> {
    if (value?.format === ARCHIVE_FORMAT && value.version !== ARCHIVE_VERSION) {
      throw this.#damage(
        `names version ${JSON.stringify(value.version)} of the format, which is not known here`,
      );
    }
    if (value === undefined) {
      const isOurs = Buffer.from(bytes.subarray(0, 100)).includes(ARCHIVE_FORMAT);
      throw this.#damage(
        isOurs
          ? 'is damaged: it is not as it was written'
          : 'is not the header of a session; "turnkeeper export SESSION --with-blobs" writes files that have one',
      );
    }
    const header = this.#checked(headerEntrySchema, value);
    const { tenant, uid, id = header.session.id } = this.options;
    this.#import = await this.archive.beginImport({ tenant, uid, id });
    this.#header = header;
  }

  async #takeBlob(value: unknown): Promise<void> {
    const { blob, mediaType, base64 } = this.#checked(blobEntrySchema, value);
    const sha256 = await this.#import?.saveBlob(Buffer.from(base64, 'base64'), mediaType);
    if (sha256 !== blob) throw this.#damage('has a blob that does not fit its digest');
    this.#blobs.add(blob);
  }

  async #takeEvent(value: { readonly [name: string]: unknown }, bytes: number): Promise<void> {
    const { key, request } = this.#checked(eventEntrySchema, value);
    // As it was written: the schemas would put members in their own order.
    const event = this.#ownEvent(this.#validEvent(value.event as SessionEvent));
    this.#state = this.#folded(event);
    this.#pending.push({
      event,
      ...(key === undefined ? {} : { key }),
      ...(request === undefined ? {} : { request }),
    });
    this.#pendingBytes += bytes;
    if (this.#pending.length >= BATCH.events || this.#pendingBytes >= BATCH.bytes) await this.#flush();
  }

  #validEvent(event: SessionEvent): SessionEvent {
    const seq = this.#state.headSeq + 1;
    if (event.seq !== seq)
      throw this.#damage(`has event ${String(event.seq)} where ${String(seq)} should stand`);
    if (event.sessionId !== this.#header?.session.id) throw this.#damage('has an event of another session');
    if ((event.type === 'session/created') !== (seq === 0)) {
      throw this.#damage(
        'has a session/created that is not the first event, or a log that does not begin with one',
      );
    }
    if (!isEventType(event.type)) {
      const { type, data } = event as { readonly type: string; readonly data: object };
      if ('ignorable' in data && data.ignorable === true) return event;
      throw this.#damage(`has an event of the type "${type}", which this version does not know`);
    }
    this.#checked(EVENT_SCHEMAS[event.type], event.data);
    const missing = blobsOfEvent(event).find((sha256) => !this.#blobs.has(sha256));
    if (missing !== undefined)
      throw this.#damage(`needs the blob ${missing}, which does not stand before it`);
    return event;
  }

  /** The event as it is in the new session. */
  #ownEvent(event: SessionEvent): SessionEvent {
    const sessionId = this.options.id ?? sessionIdSchema.parse(event.sessionId);
    if (event.type !== 'session/created') return { ...event, sessionId };
    const settings = { ...event.data.settings, workspace: this.options.workspace };
    return { ...event, sessionId, data: { ...event.data, settings } };
  }

  #folded(event: SessionEvent): SessionState {
    try {
      return evolve(this.#state, event);
    } catch {
      throw this.#damage(`has a ${event.type} that does not fit what stands before it`);
    }
  }

  #end(end: z.infer<typeof endEntrySchema>, sha256: string): void {
    const events = this.#state.headSeq + 1;
    if (end.sha256 !== sha256 || end.events !== events || events !== this.#header?.events) {
      throw this.#damage('does not fit the lines before it: some are missing');
    }
    if (end.blobs !== this.#blobs.size) throw this.#damage('counts other blobs than there are');
    this.#isOver = true;
  }

  async #flush(): Promise<void> {
    const events = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    if (events.length === 0) return;
    try {
      await this.#import?.add(events);
    } catch (error) {
      if (error instanceof StoreError && error.code === 'INVALID_EVENT') {
        this.#state = this.#import?.state ?? INITIAL_STATE;
        throw this.#damage(`, or one shortly before it, cannot stand there: ${error.message}`);
      }
      throw error;
    }
  }

  /** What closes an open turn and says what is not as it was. */
  async #repairs(
    transaction: LogTransaction,
    damage: ArchiveDamage | undefined,
    lost: number,
  ): Promise<readonly NewEvent[]> {
    const { state } = transaction;
    const turn = state.openTurn;
    const repaired =
      damage === undefined
        ? { what: 'The session was imported from a file that was written while the turn was open.' }
        : {
            what: `The session was imported from a file that is not whole: ${damage.message}`,
            lost,
            cause: 'log-damaged' as const,
          };
    const closing = repairEvents(state, {
      ...repaired,
      note: 'The turn was open in the file that the session was imported from.',
      output: turn === null ? null : await turnOutput(turn, (sha256) => transaction.readBlob(sha256)),
      planOf: () => ({ effect: 'effect', mode: 'exclusive' }),
      ids: this.options.ids,
    });
    if (closing.length > 0 || damage === undefined) return closing;
    return [{ type: 'session/repaired', data: repaired }];
  }

  #checked<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    const where = issue?.path.join('.') ?? '';
    throw this.#damage(`is not as it should be: ${where === '' ? '' : `${where}: `}${issue?.message ?? ''}`);
  }

  #damage(reason: string): ArchiveDamage {
    return new ArchiveDamage(this.#line, reason);
  }
}
