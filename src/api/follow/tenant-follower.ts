/**
 * Follows a tenant for one reader: what changes from now on, without content.
 *
 * The first message is a `ping`: whoever has it is attached, and misses nothing of what a list does not show yet.
 */
import type { Request, Response } from 'express';
import { PING_INTERVAL_MS } from '../../contract/http.js';
import type { TenantChangeType } from '../../contract/tenant-stream.js';
import type { AppDeps } from '../app-deps.js';
import { EventStream } from './event-stream.js';
import { TenantFeeds, type TenantFeed } from './tenant-feed.js';

export interface TenantFollowRequest {
  readonly request: Request;
  readonly response: Response;
  readonly tenant: string;
  /** The changes that are sent; null is all of them. */
  readonly types: ReadonlySet<TenantChangeType> | null;
}

type TenantFollowDeps = Pick<AppDeps, 'store' | 'clock' | 'settings'>;

/** Makes the function that answers one stream of a tenant; all of them share one watch of the store. */
export function createTenantFollower({
  store,
  clock,
  settings,
}: TenantFollowDeps): (follow: TenantFollowRequest) => Promise<void> {
  const feeds = new TenantFeeds(store);

  return async ({ request, response, tenant, types }) => {
    const stream = new EventStream(response, settings.pingIntervalMs ?? PING_INTERVAL_MS);
    const { feed, detach } = feeds.attach(tenant, () => {
      stream.wake();
    });
    try {
      stream.open();
      if (request.method !== 'HEAD') await sendChanges({ stream, feed, types, clock });
      stream.end();
    } finally {
      stream.release();
      detach();
    }
  };
}

/** Sends until the reader has gone, or has fallen so far behind that it has to list again. */
async function sendChanges({
  stream,
  feed,
  types,
  clock,
}: {
  readonly stream: EventStream;
  readonly feed: TenantFeed;
  readonly types: ReadonlySet<TenantChangeType> | null;
  readonly clock: AppDeps['clock'];
}): Promise<void> {
  const ping = () => stream.sendMessage('ping', { at: new Date(clock()).toISOString() });
  let index = feed.end;
  await stream.sendRetry();
  await ping();
  while (!stream.isClosed) {
    const change = feed.at(index);
    if (change === 'behind') return;
    if (change !== 'end') {
      index += 1;
      if (types?.has(change.type) ?? true) await stream.send(change.bytes);
      continue;
    }
    if (stream.takePing()) await ping();
    await stream.sleep();
  }
}
