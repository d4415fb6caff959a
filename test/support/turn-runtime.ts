/**
 * A real store, real workers and a real client on the shared Temporal server, for tests that run whole turns without
 * HTTP. Each has a deployment, a host and a folder of its own.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { pino, type Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { createActivities } from '../../src/activities/create-activities.js';
import type { ActivityDeps } from '../../src/activities/activity-deps.js';
import type { TurnHooks } from '../../src/activities/turn-hooks.js';
import type { TurnPolicy } from '../../src/contract/agent-turn.js';
import {
  DEFAULT_PROFILE,
  providerEntrySchema,
  type modelEntrySchema,
  type Profile,
  type ProviderEntry,
} from '../../src/contract/configuration.js';
import type { PromptMode, SessionEvent, Wire } from '../../src/contract/events.js';
import type { Clock, ItemId, RequestId, SessionId, SessionUid } from '../../src/contract/ids.js';
import type { SessionSettings } from '../../src/contract/session.js';
import type { TurnEngine } from '../../src/contract/turn-engine.js';
import { createModelCatalog, type ModelCatalog } from '../../src/model/model-catalog.js';
import { assemblePrompt } from '../../src/prompt/assemble-prompt.js';
import { currentProcess, isRunning } from '../../src/runtime/home/process-identity.js';
import { installTemporalRuntime } from '../../src/runtime/temporal-runtime.js';
import { createTemporalTurnEngine } from '../../src/runtime/temporal-turn-engine.js';
import { startTurnWorkers } from '../../src/runtime/turn-workers.js';
import { admitPrompt } from '../../src/store/admission.js';
import type { SessionStore, TurnRecord } from '../../src/store/session-store.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { BUILT_IN_TOOLS } from '../../src/tools/built-in-tools.js';
import type { ToolHooks } from '../../src/tools/hooks.js';
import { createBackgroundJobs } from '../../src/tools/jobs/background-jobs.js';
import { createLocalExecutionProvider } from '../../src/tools/local/local-execution-provider.js';
import { killMarkedProcesses } from '../../src/tools/local/process-tree.js';
import { createToolPipeline } from '../../src/tools/pipeline.js';
import { createToolRegistry } from '../../src/tools/registry.js';
import type { Tool } from '../../src/tools/tool.js';
import { makeDatabaseFolder } from './database-folder.js';
import { NO_HOOKS, NO_TURN_HOOKS } from './no-hooks.js';
import { createGuardedFetch } from '../../src/tools/web/guarded-fetch.js';

/** What extensions bring. */
export interface ToolChoice {
  /** Default: the built-in ones. */
  readonly tools?: readonly Tool[];
  readonly toolHooks?: ToolHooks;
  /** A file of workflow code in the place of this build's. */
  readonly workflowBundle?: string;
}

export interface TurnRuntimeOptions extends ToolChoice {
  readonly temporalAddress: string;
  /** Base URL of a scripted model server; without one the demo provider answers. */
  readonly modelUrl?: string;
  /** How the scripted provider is spoken to; default chat completions. */
  readonly wire?: Wire;
  /** Parts of the entry of the model `scripted-model`. */
  readonly model?: z.input<typeof modelEntrySchema>;
  /** Further providers, and parts of the entry `scripted`. */
  readonly providers?: Readonly<Record<string, Partial<z.input<typeof providerEntrySchema>>>>;
  /** The environment that holds the providers' keys. */
  readonly env?: Readonly<Record<string, string>>;
  readonly profile?: Partial<Profile>;
  /** Further profiles, each over the default one. */
  readonly profiles?: Readonly<Record<string, Partial<Profile>>>;
  readonly policy?: Partial<TurnPolicy>;
  readonly turnHooks?: TurnHooks;
  readonly attempts?: number;
  /** The clock of the log and the tools; default: the machine's. */
  readonly clock?: Clock;
  /** Default: none. */
  readonly logger?: Logger;
  readonly wrapActivities?: (
    activities: ReturnType<typeof createActivities>,
  ) => ReturnType<typeof createActivities>;
}

interface AdmitOptions {
  readonly mode: PromptMode;
  readonly requestId?: string;
  readonly unattended?: boolean;
}

export interface TurnRuntime {
  /** A new one after each restart. */
  readonly store: SessionStore;
  readonly engine: TurnEngine;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly models: ModelCatalog;
  readonly client: Client;
  readonly deployment: string;
  readonly workspace: string;
  /** The file of the log. */
  readonly databasePath: string;
  createSession(settings?: Partial<SessionSettings>): Promise<SessionUid>;
  /** Admits a prompt without telling the engine. */
  admit(
    uid: SessionUid,
    text: string,
    mode: PromptMode,
    requestId?: string,
  ): Promise<{ turn: number | null }>;
  /** Admits a prompt and starts the turn that it opens. */
  prompt(uid: SessionUid, text: string, requestId?: string): Promise<number | null>;
  /** As {@link prompt}, for a turn whose asks nobody can answer. */
  promptUnattended(uid: SessionUid, text: string): Promise<number | null>;
  ended(uid: SessionUid, turn: number): Promise<TurnRecord>;
  /** Resolves with the next frame of the session. */
  firstFrame(uid: SessionUid): Promise<void>;
  events(uid: SessionUid): Promise<readonly SessionEvent[]>;
  /** With other tools and hooks where they are given. Ends workers and store as a server does that is stopped, and starts them again with nothing in memory. */
  restart(choice?: ToolChoice): Promise<void>;
  stop(): Promise<void>;
}

export async function startTurnRuntime(options: TurnRuntimeOptions): Promise<TurnRuntime> {
  const { clock = Date.now, logger = pino({ level: 'silent' }) } = options;
  installTemporalRuntime(logger);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-turn-')));
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  const deployment = `test-${uuidv7()}`;
  const hostId = deployment;
  const databases = makeDatabaseFolder('turnkeeper-turn-');
  const databasePath = join(databases, 'sessions.db');
  const openStore = () => openSqliteStore({ path: databasePath, clock });
  const connection = await NativeConnection.connect({ address: options.temporalAddress });
  const client = new Client({ connection });
  const policy: TurnPolicy = {
    heartbeatMs: 2000,
    wallTimeMs: 60_000,
    maxParallelToolCalls: 10,
    ...options.policy,
  };
  const engine = createTemporalTurnEngine({
    client,
    deployment,
    policyOf: () => Promise.resolve(policy),
    eager: true,
    taskQueue: deployment,
  });
  const usesServer = options.modelUrl !== undefined;
  const profile: Profile = {
    ...DEFAULT_PROFILE,
    name: 'default',
    provider: usesServer ? 'scripted' : 'demo',
    model: usesServer ? 'scripted-model' : 'demo',
    permission: 'full-access',
    ...options.profile,
  };
  const profiles = new Map([
    ['default', profile],
    ...Object.entries(options.profiles ?? {}).map(([name, own]): [string, Profile] => [
      name,
      { ...profile, ...own, name },
    ]),
  ]);
  const entries = providerEntries(options);
  const common: Omit<ActivityDeps, 'store' | 'models' | 'jobsOf' | 'registry' | 'pipeline'> = {
    profiles,
    assemblePrompt,
    platform: 'linux x64',
    turnHooks: options.turnHooks ?? NO_TURN_HOOKS,
    execution: createLocalExecutionProvider(),
    endLeftovers: async (key) => {
      await killMarkedProcesses(key);
    },
    // What receives webhooks in a test is on this host.
    fetchWebhook: createGuardedFetch({ isAllowedAddress: () => true }),
    engine,
    ids: { uuid: uuidv7 },
    clock,
    random: Math.random,
    logger,
    hostId,
    protectedPaths: ['/proc', '/sys', '/dev'],
    heartbeatMs: policy.heartbeatMs,
  };
  const boot = async ({ tools = BUILT_IN_TOOLS, toolHooks = NO_HOOKS, workflowBundle }: ToolChoice) => {
    const registry = createToolRegistry(tools);
    const store = await openStore();
    const models = createModelCatalog(entries, options.env ?? {}, { demoWordDelayMs: 0 });
    const jobs = createBackgroundJobs({
      folder: join(folder, 'jobs'),
      execution: common.execution,
      clock,
      owner: currentProcess(),
      isRunning,
      endMarked: killMarkedProcesses,
      logger,
    });
    const activities = createActivities({
      ...common,
      registry,
      pipeline: createToolPipeline({ registry, hooks: toolHooks, clock, logger }),
      store,
      models,
      jobsOf: (uid) => jobs.ofSession(uid),
    });
    const workers = await startTurnWorkers({
      connection,
      namespace: 'default',
      hostId,
      taskQueue: deployment,
      activities: options.wrapActivities?.(activities) ?? activities,
      ...(workflowBundle === undefined ? {} : { workflowBundle }),
    });
    return { store, models, workers, jobs };
  };
  let running = await boot(options);
  const halt = async () => {
    await running.workers.stop();
    await running.jobs.stop();
    await running.store.close();
  };

  const admit = async (
    uid: SessionUid,
    text: string,
    { mode, requestId = uuidv7(), unattended = false }: AdmitOptions,
  ) => {
    const admission = await admitPrompt(running.store, uid, {
      requestId: requestId as RequestId,
      itemId: uuidv7() as ItemId,
      mode,
      content: [{ type: 'text', text }],
      bodySha256: text,
      unattended,
    });
    if (admission.kind !== 'accepted') throw new Error(admission.kind);
    return { turn: admission.turn };
  };

  const prompt = async (
    uid: SessionUid,
    text: string,
    { requestId = uuidv7(), unattended = false }: Omit<AdmitOptions, 'mode'> = {},
  ) => {
    const { turn } = await admit(uid, text, { mode: 'queue', requestId, unattended });
    if (turn !== null) await engine.startTurn(uid, turn);
    return turn;
  };

  const ended = (uid: SessionUid, turn: number) =>
    new Promise<TurnRecord>((resolve, reject) => {
      const check = () => {
        running.store.findTurn(uid, turn).then((record) => {
          if (record?.ended !== true) return;
          unwatch();
          resolve(record);
        }, reject);
      };
      const unwatch = running.store.watch(uid, check);
      check();
    });

  return {
    get store() {
      return running.store;
    },
    get models() {
      return running.models;
    },
    profiles,
    engine,
    client,
    deployment,
    workspace,
    databasePath,
    createSession: async (settings = {}) => {
      const uid = uuidv7() as SessionUid;
      await running.store.createSession({
        tenant: 'default',
        id: uid as unknown as SessionId,
        uid,
        settings: { workspace, profile: 'default', ...settings },
        bodySha256: 'none',
      });
      return uid;
    },
    admit: (uid, text, mode, requestId) =>
      admit(uid, text, { mode, ...(requestId === undefined ? {} : { requestId }) }),
    prompt: (uid, text, requestId) => prompt(uid, text, requestId === undefined ? {} : { requestId }),
    promptUnattended: (uid, text) => prompt(uid, text, { unattended: true }),
    firstFrame: (uid) =>
      new Promise((resolve) => {
        const unwatch = running.store.watch(uid, ({ kind }) => {
          if (kind !== 'frames') return;
          unwatch();
          resolve();
        });
      }),
    ended,
    events: (uid) => running.store.readEvents(uid, { limit: 100_000 }),
    restart: async (choice = options) => {
      await halt();
      running = await boot(choice);
    },
    stop: async () => {
      await halt();
      await connection.close();
      for (const each of [folder, databases]) rmSync(each, { recursive: true, force: true });
    },
  };
}

function providerEntries(options: TurnRuntimeOptions): Record<string, ProviderEntry> {
  const own = { ...options.providers };
  const scripted = {
    wire: options.wire ?? 'chat-completions',
    baseUrl: options.modelUrl,
    attempts: options.attempts ?? 3,
    models: { 'scripted-model': options.model ?? {} },
    ...own.scripted,
  };
  if (options.modelUrl !== undefined) own.scripted = scripted;
  return Object.fromEntries(
    Object.entries(own).map(([name, entry]) => [name, providerEntrySchema.parse({ ...scripted, ...entry })]),
  );
}
