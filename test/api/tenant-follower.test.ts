/** The stream of a tenant over a real connection, with a store that only makes notices: as many as a socket cannot hold. */
import express from 'express';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createTenantFollower } from '../../src/api/follow/tenant-follower.js';
import type { SessionId, SessionUid } from '../../src/contract/ids.js';
import type { SessionRecord, SessionStore, StoreNotice } from '../../src/store/session-store.js';
import { StalledReader } from './stalled-reader.js';
import { StreamReader } from './stream-reader.js';

const CHANGES = 8000;
/** Long, so that few changes fill a socket. */
const ID = 's'.repeat(5000) as SessionId;
const UID = 'u' as SessionUid;

let server: Server;
const readers: { close(): void }[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
});

describe('a reader of a tenant that does not read', () => {
  it('is let go of, to list again when it comes back, and holds up nobody', async () => {
    let notify: (notice: StoreNotice) => void = () => undefined;
    let turn = 0;
    const store = {
      watch: (_uid: null, listener: (notice: StoreNotice) => void) => {
        notify = listener;
        return () => undefined;
      },
      findSessionByUid: async () =>
        ({ uid: UID, id: ID, tenant: 't', status: 'running', openTurn: turn }) as SessionRecord,
      readEvents: async () => [],
    } as unknown as SessionStore;
    const follow = createTenantFollower({
      store,
      clock: Date.now,
      settings: { pingIntervalMs: 60_000 } as Parameters<typeof createTenantFollower>[0]['settings'],
    });
    const app = express();
    app.get('/', (request, response) => follow({ request, response, tenant: 't', types: null }));
    server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;

    const stalled = await StalledReader.open(url, 'event: ping');
    readers.push(stalled);
    const quick = await StreamReader.open(url);
    readers.push(quick);
    while (turn < CHANGES) {
      // As many as a quick reader can be behind without being let go of.
      const upTo = Math.min(CHANGES, turn + 500);
      while (turn < upTo) {
        turn += 1;
        notify({ kind: 'events', uid: UID, afterSeq: turn, headSeq: turn + 1 });
        await new Promise<void>((resolve) => {
          process.nextTick(resolve);
        });
      }
      await quick.until(({ messages }) => (messages.at(-1)?.data as { turn?: number }).turn === upTo);
    }
    stalled.socket.resume();
    await stalled.closed;
    expect(stalled.received).toMatch(/event: session[^]*0\r\n\r\n$/);
    expect(stalled.received).not.toContain(`"turn":${String(CHANGES)}}`);
  });
});
