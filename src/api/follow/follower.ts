/**
 * Follows a session for one reader: stored events after its cursor, frames of what runs, then live (DESIGN 12).
 *
 * It attaches to the feed before it reads, so nothing that is committed falls between the two. It pulls: what is next is
 * read when the reader has taken what was before.
 */
import { setImmediate as nextTurnOfTheLoop } from 'node:timers/promises';
import type { Request, Response } from 'express';
import type { EventType } from '../../contract/events.js';
import { PING_INTERVAL_MS } from '../../contract/http.js';
import type { SessionState } from '../../core/session-state.js';
import type { SessionRecord } from '../../store/session-store.js';
import type { AppDeps } from '../app-deps.js';
import { readTurn, streamState } from '../resources.js';
import { checkCursor, type Cursor } from './cursor.js';
import { EventStream } from './event-stream.js';
import { followGoal, isGoalEvent, isOutOfReach, type FollowGoal } from './follow-goal.js';
import { SessionFeeds, type SessionFeed } from './session-feed.js';
import { hasItem, passItem, renderItem, type StreamItem } from './stream-item.js';
import { StreamPosition } from './stream-position.js';

export interface FollowRequest {
  readonly request: Request;
  readonly response: Response;
  readonly session: SessionRecord;
  readonly cursor: Cursor;
  /** `?until=turn-end`, with `?turn=` where it was given. */
  readonly until: { readonly turn: number | null } | null;
  /** The events that are sent; null is all of them. */
  readonly types: ReadonlySet<EventType> | null;
}

type FollowDeps = Pick<AppDeps, 'store' | 'clock' | 'isEngineUp' | 'settings'>;

/** How many events, and frames, are read at once. */
const PAGE_LIMIT = 200;

/** Makes the function that answers one event stream; followers of the same session share a feed. */
export function createFollower(deps: FollowDeps): (follow: FollowRequest) => Promise<void> {
  const feeds = new SessionFeeds(deps.store);

  return async ({ request, response, ...follow }) => {
    const { session } = follow;
    const stream = new EventStream(response, deps.settings.pingIntervalMs ?? PING_INTERVAL_MS);
    const { feed, detach } = feeds.attach(session.uid, () => {
      stream.wake();
    });
    try {
      const goal = await admitFollow(deps.store, follow);
      // From here on there is a stream; before, a refusal was still a problem.
      stream.open();
      if (request.method !== 'HEAD') await new Follower(deps, { ...follow, stream, feed, goal }).run();
      stream.end();
    } finally {
      stream.release();
      detach();
    }
  };
}

/** When the follow is over. @throws `ProblemError` for a cursor that cannot be or a turn that will not come. */
async function admitFollow(
  store: AppDeps['store'],
  { session, cursor, until }: Pick<FollowRequest, 'session' | 'cursor' | 'until'>,
): Promise<FollowGoal> {
  // Only how far the session is: a page that stood here would be held for as long as the stream lasts.
  const { headSeq, headFrame } = await store.readTail(session.uid, { ...cursor, limit: 0 });
  checkCursor(cursor, { seq: headSeq, frame: headFrame });
  return followGoal(store, session, { until, cursor, state: await store.readState(session.uid) });
}

/** What the follower does next. */
type Progress = 'caught-up' | 'behind' | 'over';

class Follower {
  readonly #position: StreamPosition;
  #told: { readonly headSeq: number; readonly isEngineUp: boolean; readonly text: string } | null = null;

  constructor(
    private readonly deps: FollowDeps,
    private readonly follow: {
      readonly session: SessionRecord;
      readonly stream: EventStream;
      readonly feed: SessionFeed;
      readonly goal: FollowGoal;
      readonly cursor: Cursor;
      readonly types: ReadonlySet<EventType> | null;
    },
  ) {
    this.#position = new StreamPosition(follow.cursor);
  }

  async run(): Promise<void> {
    const { stream, session } = this.follow;
    await stream.sendRetry();
    await this.#sendState(await this.deps.store.readState(session.uid));
    if (await this.#isAtHeadGoal()) return;
    let progress: Progress = 'behind';
    while (progress !== 'over') {
      // With nothing in hand: a reader that has stopped reading is read for again when it goes on.
      await stream.drained();
      progress = progress === 'behind' ? await this.#catchUp() : await this.#followFeed();
      // A reader that is behind reads much at once; the others come first.
      if (progress === 'behind') await nextTurnOfTheLoop();
    }
  }

  /** Reads for this reader alone, a page at a time, until it has all that the store has. */
  async #catchUp(): Promise<Progress> {
    const { session, stream } = this.follow;
    const page = await this.deps.store.readTail(session.uid, {
      ...this.#position.cursor,
      limit: PAGE_LIMIT,
    });
    for (const event of page.events) {
      if (await this.#pass({ kind: 'event', event })) return 'over';
      if (stream.isFull) return 'behind';
    }
    if (this.#position.cursor.seq < page.headSeq) return 'behind';
    for (const { frame } of page.frames) {
      if (await this.#pass({ kind: 'frame', frame })) return 'over';
      if (stream.isFull) return 'behind';
    }
    if (page.frames.length >= PAGE_LIMIT) return 'behind';
    if (page.headFrame <= this.#position.cursor.frame) return 'caught-up';
    // The head of the frames is read after the events, so it may count frames that belong after events which this page
    // does not have. Where the log still ends at the same event, there were none: all of them have been looked at.
    const { headSeq } = await this.deps.store.readTail(session.uid, { ...this.#position.cursor, limit: 0 });
    if (headSeq !== page.headSeq) return 'behind';
    this.#position.passHead(page.headFrame);
    return 'caught-up';
  }
  /** Goes through the shared window and waits at its end, until the reader is behind it or done. */
  async #followFeed(): Promise<Progress> {
    const { feed, stream } = this.follow;
    let index = feed.join(this.#position.cursor);
    while (index !== undefined) {
      const shared = feed.at(index);
      if (shared === 'behind') break;
      if (shared !== 'end') {
        index += 1;
        if (await this.#pass(shared.item, shared)) return 'over';
        continue;
      }
      if (stream.isClosed || feed.isDeleted) return 'over';
      if (stream.takePing()) {
        // Where events are left out, the ping takes the reader past them.
        const id = this.follow.types === null ? undefined : this.#position.id;
        await stream.sendMessage('ping', { at: new Date(this.deps.clock()).toISOString() }, id);
      }
      if (await this.#isOverAtRest()) return 'over';
      await stream.sleep();
    }
    return stream.isClosed ? 'over' : 'behind';
  }

  /** Sends an item that the reader does not have and wants; true where that was the last one. */
  async #pass(item: StreamItem, shared?: { readonly id: string; readonly bytes: Buffer }): Promise<boolean> {
    const { stream, goal, types } = this.follow;
    if (stream.isClosed) return true;
    if (hasItem(this.#position, item)) return false;
    const id = passItem(this.#position, item);
    if (item.kind === 'frame' || (types?.has(item.event.type) ?? true)) {
      // A reader that came another way to this place has another id for it.
      await stream.send(shared?.id === id ? shared.bytes : renderItem(item, id));
    }
    if (item.kind === 'frame') return false;
    if (!isGoalEvent(goal, item.event)) return this.#isAtHeadGoal();
    await this.#sendEnd(item.event.turn ?? null);
    return true;
  }

  /** Ends a follow that was at rest when it began, once all that stood in the log then is sent. */
  async #isAtHeadGoal(): Promise<boolean> {
    const { goal } = this.follow;
    if (goal.kind !== 'head' || this.#position.cursor.seq < goal.seq) return false;
    await this.#sendEnd(goal.turn);
    return true;
  }

  /** Tells a change of state; true where the state says that nothing more will come for this reader. */
  async #isOverAtRest(): Promise<boolean> {
    const { feed, goal } = this.follow;
    const state = await feed.state();
    await this.#sendState(state);
    if (!isOutOfReach(goal, state) || state.headSeq > this.#position.cursor.seq) return false;
    await this.#sendEnd(null);
    return true;
  }

  async #sendState(state: SessionState): Promise<void> {
    const { headSeq } = state;
    const isEngineUp = this.deps.isEngineUp();
    // Asked at every frame by every follower, so the common case costs two comparisons.
    if (this.#told?.headSeq === headSeq && this.#told.isEngineUp === isEngineUp) return;
    const data = streamState(state, isEngineUp);
    const text = JSON.stringify(data);
    const isNews = text !== this.#told?.text;
    this.#told = { headSeq, isEngineUp, text };
    if (isNews) await this.follow.stream.sendMessage('state', data);
  }

  async #sendEnd(turn: number | null): Promise<void> {
    const { session, stream } = this.follow;
    const resource = turn === null ? undefined : await readTurn(this.deps.store, session, turn);
    await stream.sendMessage('end', resource ?? { turn: null }, this.#position.id);
  }
}
