import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionId, SessionUid } from '../../../src/contract/ids.js';
import { until } from '../../support/until.js';
import { answerForDeadWorkers, type DeadWorkersDeps } from '../../../src/runtime/dead-workers.js';

let engine: Server;
let sockets: Socket[];
let connection: Connection;

/** An engine that takes connections and says nothing. */
beforeEach(async () => {
  sockets = [];
  engine = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(engine, 'listening');
  const { port } = engine.address() as AddressInfo;
  connection = Connection.lazy({ address: `127.0.0.1:${String(port)}` });
});
afterEach(async () => {
  await connection.close();
  for (const socket of sockets) socket.destroy();
  engine.close();
});

const answer = (store: Pick<DeadWorkersDeps['store'], 'openTurns'>, written: string[]) =>
  answerForDeadWorkers({
    store: { ...store, followUps: { due: () => Promise.resolve([]) } as never },
    client: new Client({ connection }),
    namespace: 'default',
    deployment: '',
    hostId: 'host',
    identity: 'own',
    clock: Date.now,
    logger: pino({ level: 'info' }, { write: (line: string) => void written.push(line) }),
    limitMs: 300,
  });

describe('a start', () => {
  it('is not held up by an engine that does not answer, and says what it could not tell', async () => {
    const open = Array.from({ length: 1000 }, () => ({
      uid: uuidv7() as SessionUid,
      sessionId: 'session' as SessionId,
      turn: 1,
      status: 'running' as const,
      updatedAt: new Date().toISOString(),
      cancelRequested: false,
    }));
    const written: string[] = [];
    const began = performance.now();
    await answer({ openTurns: () => Promise.resolve(open) }, written);
    expect(performance.now() - began).toBeLessThan(3000);
    await until(() => written.length > 0);
    expect(written.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ answered: 0, untold: 300 }]);
  });

  it('is not held up by a log that does not answer, or answers with an error', async () => {
    const written: string[] = [];
    await answer({ openTurns: () => new Promise(() => undefined) }, written);
    expect(written).toEqual([]);
    await answer({ openTurns: () => Promise.reject(new Error('away')) }, written);
    expect(written).toHaveLength(1);
  });
});
