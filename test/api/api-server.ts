/** The real API over HTTP on a real SQLite store, with an engine that only records what it is told. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { LOOPBACK_HOSTS, type AppDeps } from '../../src/api/app-deps.js';
import { createApp } from '../../src/api/app.js';
import { DEFAULT_PROFILE, type Profile } from '../../src/contract/configuration.js';
import type { AskRef } from '../../src/contract/agent-turn.js';
import type { ModelResource, Problem, SessionResource } from '../../src/contract/http.js';
import type { Clock, SessionId, SessionUid } from '../../src/contract/ids.js';
import { createJobChecks } from '../../src/runtime/job-checks.js';
import { createMetrics } from '../../src/runtime/metrics.js';
import type { SessionStore } from '../../src/store/session-store.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { makeDatabaseFolder } from '../support/database-folder.js';

export interface Nudge {
  readonly kind: 'start' | 'decision' | 'cancel';
  readonly uid: SessionUid;
  readonly turn: number;
  /** Of a decision. */
  readonly ask?: AskRef;
}

export interface ApiServer {
  readonly url: string;
  readonly store: SessionStore;
  readonly nudges: Nudge[];
  /** The file of the log. */
  readonly databasePath: string;
  /** An existing folder that can be a workspace. */
  readonly workspace: string;
  readonly workspacesFolder: string;
  /** What the server says of itself; tests change it. */
  readonly condition: { isDraining: boolean; isEngineUp: boolean; engineFails: boolean };
  uidOf(sessionId: string): Promise<SessionUid>;
  /** Ends every connection and listens no more; resolves with what listens again at the same address. */
  shutDown(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

export const MODEL: ModelResource = {
  provider: 'demo',
  model: 'demo',
  contextWindow: 32_000,
  maxTokens: 4096,
  abilities: { tools: true, images: false, files: false, reasoning: false },
  available: true,
};

export async function startApi(
  options: {
    readonly settings?: Partial<AppDeps['settings']>;
    /** Puts something between the API and its store. */
    readonly wrapStore?: (store: SessionStore) => SessionStore;
    /** Told what the engine is told. */
    readonly onNudge?: (nudge: Nudge) => void;
    /** What is wrong with edited arguments of a tool. */
    readonly checkArguments?: AppDeps['tools']['checkArguments'];
    readonly clock?: Clock;
    /** Default: none. */
    readonly logger?: Logger;
    /** Default: `default` and `careful`. */
    readonly profiles?: ReadonlyMap<string, Profile>;
    /** Default: {@link MODEL} and its kin. */
    readonly models?: readonly ModelResource[];
  } = {},
): Promise<ApiServer> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-api-')));
  const workspace = join(folder, 'workspace');
  const databases = makeDatabaseFolder('turnkeeper-api-');
  const databasePath = join(databases, 'sessions.db');
  const workspacesFolder = join(folder, 'home', 'workspaces');
  mkdirSync(workspace);
  const { clock = Date.now, checkArguments = () => undefined } = options;
  const sqlite = await openSqliteStore({ path: databasePath, clock });
  const store = options.wrapStore?.(sqlite) ?? sqlite;
  const nudges: Nudge[] = [];
  const condition = { isDraining: false, isEngineUp: true, engineFails: false };
  const record = (kind: Nudge['kind']) => (uid: SessionUid, turn: number, ask?: AskRef) => {
    const nudge: Nudge = { kind, uid, turn, ...(ask === undefined ? {} : { ask }) };
    nudges.push(nudge);
    options.onNudge?.(nudge);
    return condition.engineFails ? Promise.reject(new Error('the engine is away')) : Promise.resolve();
  };
  const profile: Profile = { ...DEFAULT_PROFILE, name: 'default', provider: 'demo', model: 'demo' };
  const models = options.models ?? [
    MODEL,
    { ...MODEL, model: 'large' },
    { ...MODEL, provider: 'other', model: 'small' },
  ];
  const app = createApp({
    store,
    engine: {
      startTurn: record('start'),
      tellDecision: record('decision'),
      cancelTurn: record('cancel'),
      startFollowUp: () => Promise.reject(new Error('The API starts no follow-up.')),
    },
    metrics: createMetrics({
      version: '1.2.3',
      store,
      isEngineUp: () => condition.isEngineUp,
      stuckTurns: () => 0,
    }),
    profiles:
      options.profiles ??
      new Map([
        ['default', profile],
        ['careful', { ...profile, name: 'careful', permission: 'read-only' }],
        ['untitled', { ...profile, name: 'untitled', titles: 'off' }],
      ]),
    models: {
      has: (provider, model) => models.some((entry) => entry.provider === provider && entry.model === model),
      list: () => models,
    },
    tools: { checkArguments },
    jobs: createJobChecks({ webhooks: { allowPrivateAddresses: false } }),
    ids: { uuid: uuidv7 },
    clock,
    logger: options.logger ?? pino({ level: 'silent' }),
    settings: {
      version: '1.2.3',
      bodyLimitBytes: 64 * 1024,
      workspaceRoots: null,
      workspacesFolder,
      allowedHosts: LOOPBACK_HOSTS,
      ...options.settings,
    },
    readiness: async () => ({
      status: condition.isDraining ? 'draining' : condition.isEngineUp ? 'ready' : 'unavailable',
      version: '1.2.3',
      store: { kind: 'sqlite', ok: await store.ping() },
      engine: { ok: condition.isEngineUp, address: '127.0.0.1:7233', namespace: 'default', embedded: true },
    }),
    isDraining: () => condition.isDraining,
    isEngineUp: () => condition.isEngineUp,
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${String(port)}`,
    store,
    nudges,
    databasePath,
    workspace,
    workspacesFolder,
    condition,
    uidOf: async (id) => {
      const session = await sqlite.findSession('default', id as SessionId);
      if (session === undefined) throw new Error(`There is no session ${id}.`);
      return session.uid;
    },
    shutDown: async () => {
      await close();
      return () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
    },
    stop: async () => {
      await close();
      await sqlite.close();
      for (const each of [folder, databases]) rmSync(each, { recursive: true, force: true });
    },
  };
}

/** The store with some of its methods replaced. */
export function withMethods(store: SessionStore, methods: Partial<SessionStore>): SessionStore {
  return new Proxy(store, {
    get: (target, name) => {
      const value = (Reflect.get(methods, name) ?? Reflect.get(target, name)) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, or a page's text; a test says what it expects it to be. */
  readonly body: unknown;
}

/** One call with a JSON body; `init` may replace any part. */
export async function call(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: bodyOf(text),
  };
}

function bodyOf(text: string): unknown {
  if (text === '') return undefined;
  return /^[<#]/.test(text) ? text : JSON.parse(text);
}

/** A call with headers that `fetch` keeps to itself, such as Host. */
export function rawCall(
  url: string,
  options: { readonly method?: string; readonly headers?: IncomingHttpHeaders; readonly body?: Buffer },
): Promise<{ status: number; problem: Problem }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { method: options.method ?? 'GET', headers: options.headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const problem = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Problem;
          resolve({ status: response.statusCode ?? 0, problem });
        });
      },
    );
    request.on('error', reject);
    request.end(options.body);
  });
}

export async function newSession(
  api: ApiServer,
  body: Record<string, unknown> = {},
): Promise<SessionResource> {
  const answer = await call(`${api.url}/v1/sessions`, 'POST', body);
  if (answer.status !== 201) throw new Error(`No session: ${JSON.stringify(answer.body)}`);
  return answer.body as SessionResource;
}
