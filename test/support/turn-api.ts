/** The HTTP API over a turn runtime, on a port of its own, for tests that go through it. */
import { join } from 'node:path';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { LOOPBACK_HOSTS } from '../../src/api/app-deps.js';
import { createApp } from '../../src/api/app.js';
import { createClient, type Client } from '../../src/client/client.js';
import { listen } from '../../src/runtime/http-server.js';
import { createJobChecks } from '../../src/runtime/job-checks.js';
import type { TurnRuntime } from './turn-runtime.js';

export interface TurnApi {
  readonly url: string;
  readonly client: Client;
  stop(): Promise<void>;
}

/** Serves the runtime as it is now: after a restart of it another one is needed. */
export async function serveTurnApi(runtime: TurnRuntime): Promise<TurnApi> {
  const { store, engine, profiles, models, workspace } = runtime;
  const app = createApp({
    store,
    engine,
    profiles,
    metrics: { contentType: 'text/plain', read: () => Promise.resolve('') },
    tools: { checkArguments: () => undefined },
    jobs: createJobChecks({ webhooks: { allowPrivateAddresses: true } }),
    models: {
      has: (provider, model) => models.resolve(provider, model) !== undefined,
      list: () => models.list(),
    },
    ids: { uuid: uuidv7 },
    clock: Date.now,
    logger: pino({ level: 'silent' }),
    settings: {
      version: '0.0.0',
      bodyLimitBytes: 4 * 1024 * 1024,
      workspaceRoots: null,
      workspacesFolder: join(workspace, '..', 'workspaces'),
      allowedHosts: LOOPBACK_HOSTS,
    },
    readiness: () => Promise.reject(new Error('The tests of turns do not ask.')),
    isDraining: () => false,
    isEngineUp: () => true,
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  return { url: server.url, client: createClient({ baseUrl: server.url }), stop: () => server.close() };
}
