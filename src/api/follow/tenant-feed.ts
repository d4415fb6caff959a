/**
 * What the followers of a tenant share: the last changes, each read once and rendered once.
 *
 * A follower goes through them at its own pace by an index, and nothing is kept for it alone. One that has fallen out of
 * the window is told so: there is no cursor to go back to, it lists again.
 */
import type { TenantChange, TenantChangeType } from '../../contract/tenant-stream.js';
import type { SessionStore } from '../../store/session-store.js';
import { SessionChanges } from './session-changes.js';
import { renderMessage } from './stream-item.js';

/** A change with its bytes on the wire. */
export interface SharedChange {
  readonly type: TenantChangeType;
  readonly bytes: Buffer;
}

/** How many changes a follower may be behind. */
const WINDOW_LENGTH = 1000;

export class TenantFeed {
  readonly #wakes = new Set<() => void>();
  /** The window; the change at 0 has the index `#first`. */
  #changes: SharedChange[] = [];
  #first = 0;
  #failure: { readonly error: unknown } | null = null;

  get followers(): number {
    return this.#wakes.size;
  }

  /** The index of the next change. */
  get end(): number {
    return this.#first + this.#changes.length;
  }

  /** Calls `wake` whenever there may be something new, until the returned function is called. */
  attach(wake: () => void): () => void {
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }

  /**
   * The change at the index; `end` where it is not there yet, `behind` where it has left the window.
   *
   * @throws what reading the store threw.
   */
  at(index: number): SharedChange | 'end' | 'behind' {
    if (this.#failure !== null) throw this.#failure.error;
    if (index < this.#first) return 'behind';
    return this.#changes[index - this.#first] ?? 'end';
  }

  add({ type, data }: TenantChange): void {
    this.#changes.push({ type, bytes: renderMessage(type, data) });
    // Half at a time, so that a change does not cost a copy of the window each.
    if (this.#changes.length >= 2 * WINDOW_LENGTH) {
      this.#changes = this.#changes.slice(WINDOW_LENGTH);
      this.#first += WINDOW_LENGTH;
    }
    this.#wakeAll();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wakes) wake();
  }
}

/** The feeds of the tenants that are followed now, over one watch of the store. */
export class TenantFeeds {
  readonly #feeds = new Map<string, TenantFeed>();
  #changes: SessionChanges | null = null;

  constructor(private readonly store: SessionStore) {}

  /** Attaches a follower. From here on every change of its tenant is told. */
  attach(tenant: string, wake: () => void): { readonly feed: TenantFeed; readonly detach: () => void } {
    this.#changes ??= this.#watch();
    const feed = this.#feeds.get(tenant) ?? new TenantFeed();
    this.#feeds.set(tenant, feed);
    const leave = feed.attach(wake);
    return {
      feed,
      detach: () => {
        leave();
        if (feed.followers > 0 || this.#feeds.get(tenant) !== feed) return;
        this.#feeds.delete(tenant);
        if (this.#feeds.size > 0) return;
        this.#changes?.close();
        this.#changes = null;
      },
    };
  }

  #watch(): SessionChanges {
    return new SessionChanges(this.store, {
      isFollowed: (tenant) => this.#feeds.has(tenant),
      onChange: (tenant, change) => this.#feeds.get(tenant)?.add(change),
      onFailure: (error) => {
        const failed = [...this.#feeds.values()];
        // Who comes back begins anew.
        this.#feeds.clear();
        this.#changes = null;
        for (const feed of failed) feed.fail(error);
      },
    });
  }
}
