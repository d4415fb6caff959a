/**
 * The installation that is broken: a home, a model, `serve` under a supervisor, and a proxy on each way.
 *
 * Owns that the server comes back after whatever ended it, as a service manager would have it, and the counts of what
 * was done to it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createClient, type Client } from '../src/client/client.js';
import { startEmbeddedEngine, type EmbeddedEngine } from '../src/runtime/engine/embedded-engine.js';
import { findTemporalCli } from '../src/runtime/engine/find-temporal-cli.js';
import { makeHome, type HomeFolder } from '../test/support/home-folder.js';
import { isAlive } from '../test/support/processes.js';
import { ScriptedModelServer } from '../test/support/scripted-model-server.js';
import { enginePid, freePort, startServe, type ServeProcess } from '../test/support/serve-process.js';
import { BreakableProxy } from './breakable-proxy.js';
import { planModel } from './model.js';
import type { Fault, FaultKind } from './plan.js';

/** A server that was ended, and when its successor was ready; milliseconds since the epoch. */
export interface Restart {
  readonly killedAt: number;
  readonly readyAt: number;
}

export interface ChaosInstallation {
  /** Through the proxy that is cut. */
  readonly client: Client;
  readonly workspace: string;
  readonly folder: HomeFolder;
  readonly counts: Readonly<Partial<Record<FaultKind, number>>>;
  readonly restarts: readonly Restart[];
  /** What the strict model refused. */
  refusals(): readonly string[];
  /** The database of the log. */
  readonly database: string;
  apply(fault: Fault): Promise<void>;
  /** Resolves when the server is ready. */
  calm(): Promise<void>;
  /** The output of all servers. */
  output(): string;
  /** Ends everything; the home stays. */
  stop(): Promise<void>;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function startInstallation({
  external,
}: {
  readonly external: boolean;
}): Promise<ChaosInstallation> {
  const model = await ScriptedModelServer.start({ script: planModel() });
  const modelProxy = await BreakableProxy.start(portOf(model.url));
  const rules = [{ tool: 'bash', decision: 'ask' }];
  const common = { provider: 'scripted', model: 'scripted-model', permission: 'full-access' };
  const folder = makeHome(modelProxy.url, { profiles: { default: common, asking: { ...common, rules } } });
  writeFileSync(join(folder.workspace, 'notes.txt'), 'a note\n');
  const port = await freePort();
  const clients = await BreakableProxy.start(port);
  const engine = external ? await startEngine(`${folder.workspace}/../engine`) : undefined;

  let isStopping = false;
  let stayAwayMs = 0;
  let server: ServeProcess | undefined;
  let killedAt: number | undefined;
  const outputs: string[] = [];
  const restarts: Restart[] = [];
  const counts: Partial<Record<FaultKind, number>> = {};
  let becameReady: () => void = () => undefined;
  let ready = new Promise<void>((resolve) => (becameReady = resolve));

  const supervise = async (): Promise<void> => {
    while (!isStopping) {
      try {
        const started = await startServe({ home: folder.home, port, env: engine?.env ?? {} });
        server = started;
      } catch (error) {
        // It was killed before it was ready.
        outputs.push(String(error));
        await pause(100);
        continue;
      }
      if (killedAt !== undefined) restarts.push({ killedAt, readyAt: Date.now() });
      killedAt = undefined;
      becameReady();
      const own = server;
      while (isAlive(own.pid)) await pause(10);
      outputs.push(own.output());
      server = undefined;
      ready = new Promise<void>((resolve) => (becameReady = resolve));
      await pause(stayAwayMs);
    }
  };
  const supervision = supervise();

  const signalServer = (signal: NodeJS.Signals): void => {
    if (server !== undefined && isAlive(server.pid)) process.kill(server.pid, signal);
  };
  const killServer = (): void => {
    if (server === undefined) return;
    killedAt ??= Date.now();
    signalServer('SIGKILL');
  };
  const engineProcess = (): number | undefined => {
    try {
      return engine?.pid() ?? enginePid(folder.home);
    } catch {
      // It is being started.
      return undefined;
    }
  };
  const signalEngine = (signal: NodeJS.Signals): void => {
    const pid = engineProcess();
    if (pid !== undefined && isAlive(pid)) process.kill(pid, signal);
  };
  const database = join(folder.home, 'sessions.db');

  const apply = async ({ kind, ms }: Fault): Promise<void> => {
    counts[kind] = (counts[kind] ?? 0) + 1;
    stayAwayMs = ms;
    switch (kind) {
      case 'kill-server':
        killServer();
        return;
      case 'kill-engine':
        signalEngine('SIGKILL');
        return;
      case 'kill-both':
        signalEngine('SIGKILL');
        killServer();
        return;
      case 'terminate-server':
        signalServer('SIGTERM');
        return;
      case 'stop-server':
        signalServer('SIGSTOP');
        await pause(ms);
        signalServer('SIGCONT');
        return;
      case 'stop-engine':
        signalEngine('SIGSTOP');
        await pause(ms);
        signalEngine('SIGCONT');
        return;
      case 'cut-clients':
        await clients.cut(ms);
        return;
      case 'cut-model':
        await modelProxy.cut(ms);
        return;
      case 'cut-engine':
        await engine?.proxy.cut(ms);
        return;
      case 'stall-disk':
        await holdWrites(database, ms);
    }
  };

  await ready;
  return {
    client: createClient({ baseUrl: clients.url }),
    workspace: folder.workspace,
    folder,
    counts,
    restarts,
    database,
    refusals: () => model.refusals,
    apply,
    calm: () => ready,
    output: () => [...outputs, server?.output() ?? ''].join('\n'),
    stop: async () => {
      isStopping = true;
      signalServer('SIGTERM');
      await supervision;
      await engine?.stop();
      await model.close();
      for (const proxy of [clients, modelProxy]) await proxy.stop();
    },
  };
}

/** Nobody can write to the database meanwhile, as on a disk that stands still. */
async function holdWrites(file: string, ms: number): Promise<void> {
  const database = new Database(file, { timeout: 1000 });
  try {
    database.exec('begin immediate');
    await pause(ms);
    database.exec('rollback');
  } catch {
    // Somebody held it longer: it stood still without us.
  } finally {
    database.close();
  }
}

interface OwnEngine {
  readonly env: Readonly<Record<string, string>>;
  readonly proxy: BreakableProxy;
  pid(): number;
  stop(): Promise<void>;
}

async function startEngine(home: string): Promise<OwnEngine> {
  mkdirSync(home, { recursive: true });
  const quiet = (): void => undefined;
  const cli = await findTemporalCli();
  const engine: EmbeddedEngine = await startEmbeddedEngine({
    cli: cli.path,
    home,
    namespace: 'default',
    logger: { info: quiet, warn: quiet, error: quiet },
  });
  const proxy = await BreakableProxy.start(Number(engine.address.split(':')[1]));
  return {
    env: { TEMPORAL_ADDRESS: new URL(proxy.url).host },
    proxy,
    pid: () => engine.pid,
    stop: async () => {
      await proxy.stop();
      await engine.stop();
    },
  };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
