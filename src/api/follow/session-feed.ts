/**
 * What the followers of one session share: the newest part of its stream, read once and serialized once.
 *
 * A commit costs one read of the store and one rendering, however many follow. The feed keeps a window of the last items,
 * bounded in bytes; each follower goes through it at its own pace by an index. A follower that is behind the window
 * (it has just come, or its connection is slow) reads the store for itself until it is in the window again, so that it
 * neither slows the others nor makes anything be kept for it.
 */
import type { SessionUid } from '../../contract/ids.js';
import type { SessionState } from '../../core/session-state.js';
import type { SessionStore, StoreNotice, TailPage } from '../../store/session-store.js';
import type { Cursor } from './cursor.js';
import { passItem, renderItem, type StreamItem } from './stream-item.js';
import { StreamPosition } from './stream-position.js';

/** An item with the id and bytes that it has for every reader that came the same way. */
export interface SharedItem {
  readonly item: StreamItem;
  readonly id: string;
  readonly bytes: Buffer;
}

const WINDOW_BYTES = 1024 * 1024;
const PAGE_LIMIT = 200;

type FeedStore = Pick<SessionStore, 'readTail' | 'readState' | 'watch'>;

export class SessionFeed {
  readonly #wakes = new Set<() => void>();
  readonly #unwatch: () => void;
  /** The window; the item at 0 has the index `#first`. */
  #items: SharedItem[] = [];
  #first = 0;
  #bytes = 0;
  /** Whoever has everything up to here finds all the rest in the window. */
  #start: Cursor | null = null;
  /** The end of the window; null until the first follower has brought a place to start from. */
  #position: StreamPosition | null = null;
  #isStale = false;
  #isReading = false;
  #failure: { readonly error: unknown } | null = null;
  #isDeleted = false;
  #state: { readonly seq: number; readonly state: Promise<SessionState> } | null = null;

  constructor(
    private readonly store: FeedStore,
    private readonly uid: SessionUid,
  ) {
    this.#unwatch = store.watch(uid, (notice) => {
      this.#onNotice(notice);
    });
  }

  get followers(): number {
    return this.#wakes.size;
  }

  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  /** True once a read has failed: nothing more will come, and who comes back needs a new feed. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** The seq up to which the window reaches. */
  get headSeq(): number {
    return this.#position?.cursor.seq ?? -1;
  }

  /** Calls `wake` whenever there may be something new, until the returned function is called. */
  attach(wake: () => void): () => void {
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }

  /**
   * The index from which a follower that has everything up to its cursor goes through the window; undefined where the
   * window begins after it. Items that the follower has already may stand there too.
   */
  join(cursor: Cursor): number | undefined {
    if (this.#start === null) {
      this.#start = cursor;
      this.#position = new StreamPosition(cursor);
      // What was noticed since the follower attached may be newer than what it has read.
      void this.#readOn();
    }
    const isInWindow = cursor.seq >= this.#start.seq && cursor.frame >= this.#start.frame;
    return isInWindow ? this.#first : undefined;
  }

  /**
   * The item at the index; `end` where it is not there yet, `behind` where it has left the window.
   *
   * @throws what reading the store threw.
   */
  at(index: number): SharedItem | 'end' | 'behind' {
    if (this.#failure !== null) throw this.#failure.error;
    if (index < this.#first) return 'behind';
    return this.#items[index - this.#first] ?? 'end';
  }

  /** The session's state, at least as new as the window's end; one read for all who ask at the same end. */
  async state(): Promise<SessionState> {
    const seq = this.headSeq;
    if (this.#state !== null && this.#state.seq >= seq) return this.#state.state;
    const read = { seq, state: this.store.readState(this.uid) };
    this.#state = read;
    try {
      return await read.state;
    } catch (error) {
      // Kept, it would refuse all who come back until the log grows.
      if (this.#state === read) this.#state = null;
      throw error;
    }
  }

  close(): void {
    this.#unwatch();
  }

  #onNotice(notice: StoreNotice): void {
    if (notice.kind === 'deleted') {
      this.#isDeleted = true;
      this.#wakeAll();
      return;
    }
    this.#isStale = true;
    void this.#readOn();
  }

  async #readOn(): Promise<void> {
    // Notices that come while a read is under way are answered by one more read, not by one each.
    if (this.#isReading || this.#position === null || this.#failure !== null) return;
    this.#isReading = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        const page = await this.store.readTail(this.uid, {
          ...this.#position.cursor,
          limit: PAGE_LIMIT,
        });
        this.#add(page, this.#position);
      }
    } catch (error) {
      this.#failure = { error };
      this.#wakeAll();
    } finally {
      this.#isReading = false;
    }
  }

  #add(page: TailPage, position: StreamPosition): void {
    // Before the new items: whoever is at the window's end now finds all of them, however large they are.
    this.#trim();
    const before = this.#items.length;
    for (const event of page.events) this.#push(position, { kind: 'event', event });
    if (position.cursor.seq === page.headSeq) {
      for (const { frame } of page.frames) this.#push(position, { kind: 'frame', frame });
    }
    // A page that is full, or that does not reach the head, has more behind it.
    this.#isStale ||= position.cursor.seq < page.headSeq || page.frames.length >= PAGE_LIMIT;
    if (this.#items.length > before) this.#wakeAll();
  }

  #push(position: StreamPosition, item: StreamItem): void {
    const id = passItem(position, item);
    const bytes = renderItem(item, id);
    this.#items.push({ item, id, bytes });
    this.#bytes += bytes.byteLength;
  }

  #trim(): void {
    let dropped = 0;
    let start = this.#start;
    while (this.#bytes > WINDOW_BYTES) {
      const oldest = this.#items[dropped];
      if (oldest === undefined || start === null) break;
      dropped += 1;
      this.#bytes -= oldest.bytes.byteLength;
      start =
        oldest.item.kind === 'event'
          ? { ...start, seq: oldest.item.event.seq }
          : { ...start, frame: oldest.item.frame.frame };
    }
    if (dropped === 0) return;
    this.#items = this.#items.slice(dropped);
    this.#first += dropped;
    this.#start = start;
  }

  #wakeAll(): void {
    for (const wake of this.#wakes) wake();
  }
}

/** The feeds of the sessions that are followed now. */
export class SessionFeeds {
  readonly #feeds = new Map<SessionUid, SessionFeed>();

  constructor(private readonly store: FeedStore) {}

  /** Attaches a follower to its session's feed. From here on nothing that is committed goes by unnoticed. */
  attach(uid: SessionUid, wake: () => void): { readonly feed: SessionFeed; readonly detach: () => void } {
    let feed = this.#feeds.get(uid);
    if (feed === undefined || feed.hasFailed) {
      feed = new SessionFeed(this.store, uid);
      this.#feeds.set(uid, feed);
    }
    const attached = feed;
    const leave = attached.attach(wake);
    return {
      feed: attached,
      detach: () => {
        leave();
        if (attached.followers > 0) return;
        attached.close();
        if (this.#feeds.get(uid) === attached) this.#feeds.delete(uid);
      },
    };
  }
}
