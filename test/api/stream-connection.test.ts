/** The stream as HTTP: versions, keep-alive and close, and readers that leave at awkward moments. */
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionStore } from '../../src/store/session-store.js';
import { call, withMethods } from './api-server.js';
import { FollowedSession } from './followed-session.js';

let session: FollowedSession;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await session.stop();
});

/** A connection of bare bytes. */
async function open(): Promise<{
  readonly socket: Socket;
  readonly received: () => string;
  readonly until: (part: RegExp) => Promise<void>;
}> {
  const { hostname, port } = new URL(session.api.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let text = '';
  let check: () => void = () => undefined;
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    check();
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    received: () => text,
    until: (part) =>
      new Promise((resolve) => {
        check = () => {
          if (part.test(text)) resolve();
        };
        check();
      }),
  };
}

const request = (version: string, ...headers: string[]) =>
  [
    `GET /v1/sessions/s/events?until=turn-end HTTP/${version}`,
    'Host: localhost',
    'Accept: text/event-stream',
    ...headers,
    '',
    '',
  ].join('\r\n');
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

/** The store with watches that are counted, and with reads of sessions that a test can hold up. */
function watched(): {
  options: { wrapStore: (store: SessionStore) => SessionStore };
  /** How many there have been, and how many there are. */
  watches(): { all: number; now: number };
  hold(): { asked: Promise<void>; go: () => void };
} {
  let all = 0;
  let now = 0;
  let onFind = () => Promise.resolve();
  return {
    watches: () => ({ all, now }),
    hold: () => {
      let go: () => void = () => undefined;
      const released = new Promise<void>((resolve) => (go = resolve));
      const asked = new Promise<void>((resolve) => {
        onFind = () => {
          resolve();
          return released;
        };
      });
      return { asked, go };
    },
    options: {
      wrapStore: (store) =>
        withMethods(store, {
          findSession: async (tenant, id) => {
            await onFind();
            return store.findSession(tenant, id);
          },
          watch: (uid, listener) => {
            all += 1;
            now += 1;
            const unwatch = store.watch(uid, listener);
            return () => {
              now -= 1;
              unwatch();
            };
          },
        }),
    },
  };
}

/** Resolves once the condition holds; each look is a turn of the event loop. */
async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('the connection of a stream', () => {
  it('serves the next request over HTTP/1.1 once the stream has ended', async () => {
    session = await FollowedSession.start();
    const { socket, received, until } = await open();
    for (let n = 1; n <= 12; n += 1) {
      socket.write(request('1.1'));
      await until(new RegExp(`(event: end[^]*?\r\n0\r\n\r\n[^]*?){${String(n)}}`));
    }
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(received()).toContain('Connection: keep-alive');
    expect(received()).toContain('Transfer-Encoding: chunked');
    // Nothing of a stream that is over stays with its connection.
    expect(socket.destroyed).toBe(false);
  });

  it('is closed after the stream where the reader has asked for that', async () => {
    session = await FollowedSession.start();
    const { socket, received } = await open();
    socket.write(request('1.1', 'Connection: close'));
    await closed(socket);
    expect(received()).toContain('Connection: close');
    expect(received()).toMatch(/event: end[^]*0\r\n\r\n$/);
  });

  it('is not chunked over HTTP/1.0, and closed after the stream', async () => {
    session = await FollowedSession.start();
    const { socket, received } = await open();
    socket.write(request('1.0'));
    await closed(socket);
    expect(received()).not.toContain('chunked');
    expect(received()).toMatch(/event: end\ndata: \{"turn":null\}\n\n$/);
  });

  it('may be used for any number of streams that are refused', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    session = await FollowedSession.start();
    const { socket, until } = await open();
    for (let n = 1; n <= 15; n += 1) {
      socket.write(request('1.1').replace('until=turn-end', 'after=99'));
      await until(new RegExp(`(INVALID_CURSOR[^]*?){${String(n)}}`));
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});

describe('a reader that leaves', () => {
  it('while its session is looked up leaves nothing behind', async () => {
    const store = watched();
    session = await FollowedSession.start(store.options);
    const { asked, go } = store.hold();
    const { socket } = await open();
    socket.write(request('1.1').replace('?until=turn-end', ''));
    await asked;
    socket.destroy();
    await closed(socket);
    // The server has seen it go before the look-up ends.
    await call(`${session.api.url}/v1/models`, 'GET');
    go();
    await eventually(() => store.watches().all === 1 && store.watches().now === 0);
  });

  it('with a second stream that waits behind the first one leaves neither behind', async () => {
    const store = watched();
    session = await FollowedSession.start(store.options);
    const { socket, until } = await open();
    await call(`${session.api.url}/v1/sessions`, 'POST', { id: 't' });
    const following = request('1.1').replace('?until=turn-end', '');
    socket.write(following + following.replace('/s/', '/t/'));
    await until(/event: event/);
    await eventually(() => store.watches().now === 2);
    socket.destroy();
    await eventually(() => store.watches().now === 0);
  });

  it('in mid-stream leaves nothing behind', async () => {
    const store = watched();
    session = await FollowedSession.start(store.options);
    const readers = await Promise.all([
      session.follow(),
      session.follow(),
      session.follow('?types=turn/end'),
    ]);
    await eventually(() => store.watches().now === 1);
    for (const reader of readers) reader.close();
    await eventually(() => store.watches().now === 0);
  });
});
