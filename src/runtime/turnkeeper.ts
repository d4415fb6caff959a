/**
 * The composition root: puts configuration, store, engine, workers and API together, and takes them apart in order.
 *
 * Owns the order of start and stop. What each part does is its own.
 */
import { arch } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { ActivityDeps } from '../activities/activity-deps.js';
import { createActivities } from '../activities/create-activities.js';
import { betweenStepsMs } from '../activities/turn-hooks.js';
import { settingsInForce } from '../activities/turn-settings.js';
import { createApp } from '../api/app.js';
import { deleteUnchangedSession } from '../api/session-deletion.js';
import { removeFreshWorkspace } from '../api/workspace.js';
import type { TurnPolicy } from '../contract/agent-turn.js';
import type { Configuration } from '../contract/configuration.js';
import type { Readiness } from '../contract/http.js';
import type { SessionUid } from '../contract/ids.js';
import type { TurnNudges } from '../contract/turn-engine.js';
import { assemblePrompt } from '../prompt/assemble-prompt.js';
import type { SessionStore } from '../store/session-store.js';
import { openSqliteStore, sqliteFiles } from '../store/sqlite/open.js';
import { killMarkedProcesses } from '../tools/local/process-tree.js';
import { loadConfiguration } from './configuration/load-configuration.js';
import type { ConfigurationFlags } from './configuration/settings.js';
import { storeLocation } from './configuration/store-location.js';
import { assembleConfigured, type ConfiguredParts } from './configured-parts.js';
import { connectEngine, startEngine, type Engine } from './engine.js';
import { protectedPathsOf, startExecution } from './execution-parts.js';
import { startEventObservers } from './extensions/event-observers.js';
import { acquireHomeLock } from './home/home-lock.js';
import { prepareHome, type Home } from './home/prepare-home.js';
import { currentProcess } from './home/process-identity.js';
import { startFollowUpSweeper } from './follow-up-sweeper.js';
import { createJobChecks, createWebhookFetch } from './job-checks.js';
import { answerForDeadWorkers } from './dead-workers.js';
import { endLeftoverCommands } from './leftover-commands.js';
import { listen } from './http-server.js';
import { checkExposure, hostsAnswered } from './server-exposure.js';
import { createMetrics } from './metrics.js';
import { startRetention } from './retention.js';
import { createServerLog } from './server-log.js';
import { startSweeper } from './sweeper.js';
import { watchStandstills } from './standstills.js';
import { createTemporalTurnEngine } from './temporal-turn-engine.js';
import { installTemporalRuntime } from './temporal-runtime.js';
import { createTurnHistories } from './turn-histories.js';
import { startTurnWorkers } from './turn-workers.js';
import { workerIdentity } from './worker-identity.js';
import { Teardown } from './teardown.js';
import { VERSION } from './version.js';

export interface TurnkeeperOptions {
  readonly flags?: ConfigurationFlags;
  /** Default `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: warnings and errors on standard error. */
  readonly logger?: Logger;
  /** Told what takes long while it starts, for a person who waits. */
  readonly onProgress?: (message: string) => void;
  /** How long the demo provider waits before each word, in milliseconds. */
  readonly demoWordDelayMs?: number;
}

export interface Turnkeeper {
  readonly url: string;
  readonly home: string;
  /** The page of the embedded engine. */
  readonly uiUrl?: string;
  /** Stops admitting, hands running work over, and ends everything. A second call waits for the first. */
  stop(): Promise<void>;
  /** Resolves when all has ended; rejects where a part failed for good. */
  readonly stopped: Promise<void>;
}

/**
 * Starts everything in this process: log, engine, workers, sweeper and API.
 *
 * @throws ConfigurationError, HomeError, StoreError, EngineError, TemporalCliNotFoundError, ListenError: each says
 * what is wrong and what to do; nothing is left running.
 */
export async function startTurnkeeper(options: TurnkeeperOptions = {}): Promise<Turnkeeper> {
  const env = options.env ?? process.env;
  const logger = options.logger ?? createServerLog();
  const loaded = loadConfiguration({ flags: options.flags ?? {}, env });
  const { configuration } = loaded;
  const location = storeLocation(configuration);
  const { demoWordDelayMs } = options;
  const configured = await assembleConfigured(loaded, { env, logger, demoWordDelayMs });

  const teardown = new Teardown(logger);
  try {
    const home = prepareHome(configuration.home, uuidv7);
    const lock = acquireHomeLock(home.folder);
    teardown.add('home lock', () => {
      lock.release();
    });
    const store = await openSqliteStore({
      path: location.file,
      clock: Date.now,
      onObserverError: (error) => {
        logger.error({ err: error }, 'an observer of the session log threw');
      },
    });
    teardown.add('store', () => store.close());
    checkExposure(loaded, await store.keys.exist());
    const leftovers = await endLeftoverCommands(store);
    if (leftovers > 0)
      logger.warn({ processes: leftovers }, 'commands that outlived a killed server were ended');
    installTemporalRuntime(logger);
    const engine = await startEngine({ configuration, home, env, logger, onProgress: options.onProgress });
    teardown.add('engine', () => engine.stop());
    const running = await startServices({
      configuration,
      env,
      protectedPaths: protectedPathsOf(home.folder, [loaded.file, ...sqliteFiles(location.file)]),
      home,
      store,
      engine,
      logger,
      teardown,
      ...configured,
    });
    lock.publishServer(running.url);
    return running;
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

interface ServiceParts extends ConfiguredParts {
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
  /** What no tool touches: the home, and what of the configuration and the log lies elsewhere. */
  readonly protectedPaths: readonly string[];
  readonly home: Home;
  readonly store: SessionStore;
  readonly engine: Engine;
  readonly logger: Logger;
  readonly teardown: Teardown;
}

async function startServices(parts: ServiceParts): Promise<Turnkeeper> {
  const { configuration, env, home, store, engine, models, profiles, tools, logger, teardown } = parts;
  const { namespace, deployment } = configuration.engine;
  const connection = await connectEngine(engine.address);
  teardown.add('engine connection', () => connection.close());
  const heartbeatMs = configuration.engine.heartbeatMs ?? (engine.embedded ? 3000 : 10_000);
  // Before the workers, and so ended after them: their calls may still read background commands.
  const { execution, jobs } = await startExecution({ home: home.folder, env, store, logger, teardown });
  teardown.add('event observers', startEventObservers(store, tools.eventObservers, logger));
  const policyOf = async (uid: SessionUid): Promise<TurnPolicy> => {
    const { limits, profile } = settingsInForce(await store.readState(uid), { profiles, execution });
    return {
      heartbeatMs,
      wallTimeMs: limits.wallTimeMs,
      maxParallelToolCalls: profile.maxParallelToolCalls,
      betweenStepsMs: betweenStepsMs(tools.turnHooks),
    };
  };
  const client = new Client({ connection, namespace });
  const turns = createTemporalTurnEngine({
    client,
    deployment,
    policyOf,
    eager: true,
  });
  // Before the workers: what they go on with knows that it stood still.
  const standstills = await watchStandstills({
    store,
    oldWork: { policy: configuration.recovery.oldWork, afterMs: configuration.recovery.oldWorkAfterMs },
    clock: Date.now,
    logger,
    isEngineUp: () => engine.isUp(),
  });
  teardown.add('standstill watch', () => {
    standstills.stop();
  });
  const identity = workerIdentity(home.hostId, currentProcess());
  const workers = await startTurnWorkers({
    connection,
    namespace,
    hostId: home.hostId,
    identity,
    before: answerForDeadWorkers({
      ...parts,
      client,
      namespace,
      deployment,
      hostId: home.hostId,
      identity,
      clock: Date.now,
    }),
    activities: activitiesOf(parts, turns, {
      heartbeatMs,
      execution,
      jobsOf: (uid) => jobs.ofSession(uid),
    }),
  });
  teardown.add('workers', () => workers.stop());
  const sweeper = startSweeper({
    store,
    engine: turns,
    clock: Date.now,
    logger,
    isEngineUp: () => engine.isUp(),
  });
  const followUps = startFollowUpSweeper({
    store,
    engine: turns,
    clock: Date.now,
    logger,
    isEngineUp: () => engine.isUp(),
  });
  engine.onUp(() => {
    // Where the log does not answer it is asked again soon.
    standstills.look().catch(() => undefined);
    void sweeper.sweepAll();
    void followUps.sweepAll();
  });
  teardown.add('sweepers', () => {
    sweeper.stop();
    followUps.stop();
  });

  const workspacesFolder = join(home.folder, 'workspaces');
  const { workspaceRoots } = configuration.server;
  const retention = startRetention({
    store,
    histories: createTurnHistories({ client, namespace, deployment, logger }),
    clock: Date.now,
    logger,
    isEngineUp: () => engine.isUp(),
    sessionsAfterDays: configuration.retention.sessionsAfterDays,
    deleteSession: (record, unchangedSince) =>
      deleteUnchangedSession(
        { store, logger, settings: { workspacesFolder, workspaceRoots } },
        record,
        unchangedSince,
      ),
    removeFolders: async (uid) => {
      await jobs.endSession(uid);
      await removeFreshWorkspace(uid, { workspacesFolder, workspaceRoots });
    },
  });
  teardown.add('retention', () => retention.stop());

  let draining = false;
  const readiness = async (): Promise<Readiness> => {
    const ok = await store.ping();
    const status = draining ? 'draining' : ok && engine.isUp() ? 'ready' : 'unavailable';
    return {
      status,
      version: VERSION,
      store: { kind: store.kind, ok },
      engine: {
        ok: engine.isUp(),
        address: engine.address,
        namespace,
        embedded: engine.embedded,
        ...(engine.uiUrl === undefined ? {} : { uiUrl: engine.uiUrl }),
      },
    };
  };
  const app = createApp({
    store,
    engine: turns,
    metrics: createMetrics({
      version: VERSION,
      store,
      isEngineUp: () => engine.isUp(),
      stuckTurns: () => sweeper.stuckTurns(),
    }),
    profiles,
    models: {
      has: (provider, model) => models.resolve(provider, model) !== undefined,
      list: () => models.list(),
    },
    tools: tools.directory,
    jobs: createJobChecks(configuration),
    ids: { uuid: uuidv7 },
    clock: Date.now,
    logger,
    settings: {
      version: VERSION,
      bodyLimitBytes: configuration.server.bodyLimitBytes,
      uploadLimitBytes: configuration.server.uploadLimitBytes,
      workspaceRoots,
      workspacesFolder,
      closedFolders: [home.folder],
      allowedHosts: hostsAnswered(configuration.server),
      allowedOrigins: configuration.server.allowedOrigins,
      keys: configuration.server.keys,
    },
    readiness,
    isDraining: () => draining,
    isEngineUp: () => engine.isUp(),
  });
  const server = await listen(app, configuration.server);
  teardown.add('server', () => server.close());

  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    draining = true;
    stopping ??= teardown.run();
    return stopping;
  };
  return {
    url: server.url,
    home: home.folder,
    ...(engine.uiUrl === undefined ? {} : { uiUrl: engine.uiUrl }),
    stop,
    // A worker that failed for good ends the process rather than leaves a server that does nothing.
    stopped: workers.finished.then(stop, async (error: unknown) => {
      await stop();
      throw error;
    }),
  };
}

function activitiesOf(
  { configuration, protectedPaths, home, store, models, profiles, tools, logger }: ServiceParts,
  engine: TurnNudges,
  own: Pick<ActivityDeps, 'heartbeatMs' | 'execution' | 'jobsOf'>,
) {
  return createActivities({
    store,
    profiles,
    models,
    assemblePrompt,
    platform: `${process.platform} ${arch()}`,
    ...own,
    registry: tools.registry,
    pipeline: tools.pipeline,
    turnHooks: tools.turnHooks,
    fetchWebhook: createWebhookFetch(configuration),
    endLeftovers: async (idempotencyKey) => {
      await killMarkedProcesses(idempotencyKey);
    },
    engine,
    ids: { uuid: uuidv7 },
    clock: Date.now,
    random: Math.random,
    logger,
    hostId: home.hostId,
    protectedPaths,
  });
}
