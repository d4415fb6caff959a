/**
 * Turns the store's notices into what followers of a tenant are told: which session is different, and which asks were
 * opened or closed. Notices of one session that come while it waits to be read are answered by one reading.
 *
 * Owns the order: sessions are read one after another, so a removal is never followed by an older change. Who is told
 * is the caller's.
 */
import type { EventType, SessionEvent } from '../../contract/events.js';
import type { SessionId, SessionUid } from '../../contract/ids.js';
import type { TenantChange } from '../../contract/tenant-stream.js';
import {
  StoreError,
  type SessionRecord,
  type SessionStore,
  type StoreNotice,
} from '../../store/session-store.js';

type ChangeStore = Pick<SessionStore, 'watch' | 'findSessionByUid' | 'readEvents'>;

export interface ChangeListener {
  /** Whether anybody follows the tenant: nothing more is read of its sessions else. */
  isFollowed(tenant: string): boolean;
  onChange(tenant: string, change: TenantChange): void;
  /** The store cannot be read; nothing more comes. */
  onFailure(error: unknown): void;
}

/** The events of which more is told than that the session may look different. */
const TOLD_TYPES = [
  'session/created',
  'session/title',
  'session/settings',
  'approval/asked',
  'approval/decided',
  'question/asked',
  'question/answered',
] as const satisfies readonly EventType[];
const PAGE_LIMIT = 200;
/** What was told of this many sessions is remembered; of others a change may be told that shows nothing new. */
const MAX_KNOWN = 10_000;

/** What waits to be read of one session. */
interface Noticed {
  readonly afterSeq: number;
  readonly removed: { readonly id: SessionId; readonly tenant: string } | null;
}

/** What the followers were told last of a session. */
interface Told {
  readonly look: string;
  /** The last event of which was told. */
  readonly seq: number;
}

export class SessionChanges {
  readonly #unwatch: () => void;
  readonly #noticed = new Map<SessionUid, Noticed>();
  readonly #known = new Map<SessionUid, Told>();
  #isReading = false;
  #isClosed = false;

  constructor(
    private readonly store: ChangeStore,
    private readonly listener: ChangeListener,
  ) {
    this.#unwatch = store.watch(null, (notice) => {
      this.#onNotice(notice);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch();
  }

  #onNotice(notice: StoreNotice): void {
    if (notice.kind === 'frames') return;
    const before = this.#noticed.get(notice.uid);
    this.#noticed.set(
      notice.uid,
      notice.kind === 'deleted'
        ? { afterSeq: 0, removed: { id: notice.id, tenant: notice.tenant } }
        : { afterSeq: before?.afterSeq ?? notice.afterSeq, removed: before?.removed ?? null },
    );
    void this.#readOn();
  }

  async #readOn(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      for (const [uid, noticed] of this.#noticed) {
        if (this.#isClosed) return;
        this.#noticed.delete(uid);
        await this.#read(uid, noticed);
      }
    } catch (error) {
      this.close();
      this.listener.onFailure(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #read(uid: SessionUid, { afterSeq, removed }: Noticed): Promise<void> {
    if (removed !== null) {
      this.#known.delete(uid);
      const data = { id: removed.id, change: 'removed', status: 'idle', turn: null } as const;
      this.listener.onChange(removed.tenant, { type: 'session', data });
      return;
    }
    const record = await this.store.findSessionByUid(uid);
    if (record === undefined || !this.listener.isFollowed(record.tenant)) {
      // Who comes later is told of its next change, whatever was told before.
      this.#known.delete(uid);
      return;
    }
    const known = this.#known.get(uid);
    // An earlier reading may have gone beyond what it was noticed for.
    const seq = Math.max(afterSeq, known?.seq ?? -1);
    const events = await this.#toldEvents(uid, seq);
    const look = `${record.status} ${String(record.openTurn)}`;
    this.#remember(uid, { look, seq: events.at(-1)?.seq ?? seq });
    const change = sessionChange(record, events, known?.look !== look);
    if (change !== null) this.listener.onChange(record.tenant, change);
    for (const event of events) {
      const ask = askChange(record.id, event);
      if (ask !== null) this.listener.onChange(record.tenant, ask);
    }
  }

  /** The events after the seq that are told one by one, up to the log's end. */
  async #toldEvents(uid: SessionUid, afterSeq: number): Promise<readonly SessionEvent[]> {
    const events: SessionEvent[] = [];
    try {
      for (let after = afterSeq; ;) {
        const page = await this.store.readEvents(uid, { after, types: TOLD_TYPES, limit: PAGE_LIMIT });
        events.push(...page);
        after = page.at(-1)?.seq ?? after;
        if (page.length < PAGE_LIMIT) return events;
      }
    } catch (error) {
      // Deleted since its row was read: that is told next.
      if (error instanceof StoreError && error.code === 'SESSION_NOT_FOUND') return [];
      throw error;
    }
  }

  #remember(uid: SessionUid, told: Told): void {
    // At the end, so that the one that was read longest ago is the first.
    this.#known.delete(uid);
    this.#known.set(uid, told);
    if (this.#known.size <= MAX_KNOWN) return;
    const oldest = this.#known.keys().next();
    if (oldest.done !== true) this.#known.delete(oldest.value);
  }
}

/** What is told of the session itself; null where a list would show it as before. */
function sessionChange(
  { id, status, openTurn: turn }: SessionRecord,
  events: readonly SessionEvent[],
  looksOther: boolean,
): TenantChange | null {
  const isNew = events.some(({ type }) => type === 'session/created');
  const isNamed = events.some(({ type }) => type === 'session/title' || type === 'session/settings');
  if (!isNew && !isNamed && !looksOther) return null;
  return { type: 'session', data: { id, change: isNew ? 'added' : 'changed', status, turn } };
}

/** What is told of an approval or a question that the event opens or closes; null for any other event. */
function askChange(sessionId: SessionId, event: SessionEvent): TenantChange | null {
  const place = { sessionId, turn: event.turn ?? 0, step: event.step ?? 0 };
  switch (event.type) {
    case 'approval/asked':
    case 'approval/decided': {
      const status = event.type === 'approval/asked' ? 'open' : 'closed';
      return { type: 'approval', data: { approvalId: event.data.approvalId, ...place, status } };
    }
    case 'question/asked':
    case 'question/answered': {
      const status = event.type === 'question/asked' ? 'open' : 'closed';
      return { type: 'question', data: { questionId: event.data.questionId, ...place, status } };
    }
    default:
      return null;
  }
}
