/**
 * The embedded engine: the Temporal CLI's development server with its database in the home. Owns that it is there from
 * `startEmbeddedEngine` to `stop`, on one port, whatever happens to its process.
 *
 * The caller holds the home's lock: two engines on one database would corrupt it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { putAsideDamagedDatabase } from './damaged-database.js';
import { EngineError, portInUseError } from './engine-error.js';
import { waitUntilHealthy } from './engine-health.js';
import { adoptEngine, type EngineProcess } from './engine-process.js';
import { readEngineState, recordedEngine, strayEngines, writeEngineState } from './engine-state.js';
import { findFreePort, isPortFree, LOOPBACK } from './free-port.js';
import { engineCommand, launchEngine, type Ports } from './launch-engine.js';

/** An engine that was left running answers at once or is not worth keeping. */
const ADOPTION_TIMEOUT_MS = 3000;
const RESTART_DELAYS_MS = [0, 100, 250, 500, 1000, 2000, 5000] as const;
/** After so long a run the next restart is tried without delay again. */
const STABLE_AFTER_MS = 30_000;
const PORT_ATTEMPTS = 5;

export interface EmbeddedEngineOptions {
  /** The Temporal CLI (`findTemporalCli`). */
  readonly cli: string;
  /** Absolute, and prepared (`prepareHome`). */
  readonly home: string;
  /** 0, the default, takes the port of the last time, else any free one. */
  readonly port?: number;
  /** Created where it does not exist. */
  readonly namespace: string;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** The process is gone; another one is being started. Must not throw. */
  readonly onDown?: (cause: string) => void;
  /** It answers again, on the same port. Must not throw. */
  readonly onUp?: () => void;
  /** Ends a start that is under way; afterwards it does nothing. */
  readonly signal?: AbortSignal;
  /** Default `process.env`; the engine sees only a few harmless variables of it. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface EmbeddedEngine {
  /** `127.0.0.1:port`; kept over restarts of the engine and of the home. */
  readonly address: string;
  readonly namespace: string;
  /** The engine's own web page. */
  readonly uiUrl: string;
  /** Whether it was left running by a killed process and taken over. */
  readonly adopted: boolean;
  readonly state: 'up' | 'down';
  /** Of the running process, or of the last one while the engine is down. */
  readonly pid: number;
  /** Ends a process that does not answer any more; another one is started. */
  replaceProcess(): void;
  /** Ends the engine for good; resolves when its process has ended. */
  stop(): Promise<void>;
}

interface Started {
  readonly ports: Ports;
  readonly engine: EngineProcess;
  readonly adopted: boolean;
}

/**
 * Starts the engine, or takes over the one that a killed process left running in this home, and keeps it running.
 * Resolves when workflows can be started.
 *
 * @throws EngineError `ENGINE_PORT_IN_USE`, `ENGINE_START_FAILED`, `ENGINE_START_TIMEOUT`, `ENGINE_START_STOPPED`.
 */
export async function startEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  const signal = options.signal ?? new AbortController().signal;
  return new Supervisor(options, (await takeOver(options, signal)) ?? (await startNew(options, signal)));
}

/** The engine that runs in this home already, if it can be used; all others that run there are ended. */
async function takeOver(options: EmbeddedEngineOptions, signal: AbortSignal): Promise<Started | undefined> {
  const { cli, home, logger, namespace } = options;
  const state = readEngineState(home);
  const recorded = recordedEngine(state);
  for (const stray of strayEngines(home, recorded?.pid)) {
    logger.warn({ pid: stray.pid }, 'ending an engine that was left running in this home');
    await adoptEngine(stray).end();
  }
  if (state === undefined || recorded === undefined) return undefined;

  const engine = adoptEngine(recorded);
  const { port } = state;
  const wanted = engineCommand({ cli, namespace, ports: state });
  const fits =
    JSON.stringify(state.command) === JSON.stringify(wanted) &&
    ((options.port ?? 0) === 0 || options.port === port);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ADOPTION_TIMEOUT_MS)]);
  if (fits && (await waitUntilHealthy({ host: LOOPBACK, port, namespace, signal: limited }))) {
    logger.info({ pid: recorded.pid, port }, 'adopted the engine that was left running');
    return { ports: { port, uiPort: state.uiPort }, engine, adopted: true };
  }
  logger.warn({ pid: recorded.pid }, 'ending the engine that was left running: it cannot be adopted');
  await engine.end();
  return undefined;
}

async function startNew(options: EmbeddedEngineOptions, signal: AbortSignal): Promise<Started> {
  const configured = options.port ?? 0;
  const kept = readEngineState(options.home);
  // The last one was not stopped: a power cut damages what it wrote, and not each damage keeps an engine from starting.
  if (kept?.pid !== undefined) putAsideDamagedDatabase(options);
  for (let attempt = 1; ; attempt += 1) {
    const ports = await choosePorts(configured, attempt === 1 ? kept : undefined);
    try {
      return { ports, engine: await launch(options, ports, signal), adopted: false };
    } catch (error) {
      // A port that nobody asked for was taken since it was found free.
      const isOtherPortPossible =
        error instanceof EngineError &&
        error.code === 'ENGINE_PORT_IN_USE' &&
        (configured === 0 || error.port !== configured);
      if (!isOtherPortPossible || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function choosePorts(configured: number, kept: Ports | undefined): Promise<Ports> {
  if (configured !== 0 && !(await isPortFree(configured))) throw portInUseError(configured);
  const port = configured === 0 ? await firstFree([kept?.port]) : configured;
  const uiWishes = [kept?.uiPort, port + 1000].filter((wish) => wish !== port);
  return { port, uiPort: await firstFree(uiWishes) };
}

async function firstFree(wishes: readonly (number | undefined)[]): Promise<number> {
  for (const wish of wishes) {
    if (wish !== undefined && wish <= 65_535 && (await isPortFree(wish))) return wish;
  }
  return findFreePort();
}

async function launch(
  options: EmbeddedEngineOptions,
  ports: Ports,
  signal: AbortSignal,
): Promise<EngineProcess> {
  const { cli, home, namespace, env = process.env } = options;
  const start = () => launchEngine({ cli, home, namespace, ports, env, signal });
  try {
    return await start();
  } catch (error) {
    if (!isStartFailure(error) || !putAsideDamagedDatabase(options)) throw error;
    return start();
  }
}

function isStartFailure(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    (error.code === 'ENGINE_START_FAILED' || error.code === 'ENGINE_START_TIMEOUT')
  );
}

class Supervisor implements EmbeddedEngine {
  readonly namespace: string;
  readonly address: string;
  readonly adopted: boolean;
  readonly #options: EmbeddedEngineOptions;
  readonly #stopping = new AbortController();
  readonly #supervision: Promise<void>;
  #ports: Ports;
  #engine: EngineProcess;
  #state: 'up' | 'down' = 'up';
  #stopped: Promise<void> | undefined;

  constructor(options: EmbeddedEngineOptions, { ports, engine, adopted }: Started) {
    this.#options = options;
    this.#ports = ports;
    this.#engine = engine;
    this.adopted = adopted;
    this.namespace = options.namespace;
    this.address = `${LOOPBACK}:${String(ports.port)}`;
    this.#supervision = this.#keepRunning();
  }

  get uiUrl(): string {
    return `http://${LOOPBACK}:${String(this.#ports.uiPort)}`;
  }

  get state(): 'up' | 'down' {
    return this.#state;
  }

  get pid(): number {
    return this.#engine.identity.pid;
  }

  replaceProcess(): void {
    if (this.#state === 'up') this.#engine.kill();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#engine.end();
    await this.#supervision;
    this.#state = 'down';
    const { cli, home, namespace } = this.#options;
    const command = engineCommand({ cli, namespace, ports: this.#ports });
    writeEngineState(home, { ...this.#ports, command: [...command] });
  }

  #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #keepRunning(): Promise<void> {
    const { logger, onDown, onUp } = this.#options;
    let failures = 0;
    for (;;) {
      const upSince = Date.now();
      const cause = await this.#engine.exited;
      if (this.#isStopping()) return;
      if (Date.now() - upSince > STABLE_AFTER_MS) failures = 0;
      this.#state = 'down';
      logger.warn({ pid: this.pid, cause }, 'the engine ended; starting it again');
      onDown?.(cause);
      while (!(await this.#startAgain(failures))) failures += 1;
      if (this.#isStopping()) return;
      // An engine that ends soon after each start must not be started in a tight loop.
      failures += 1;
      this.#state = 'up';
      logger.info({ pid: this.pid, address: this.address }, 'the engine is up again');
      onUp?.();
    }
  }

  /** Waits as the number of failures asks, then starts a process; false where that failed. True when stopping. */
  async #startAgain(failures: number): Promise<boolean> {
    const wait = RESTART_DELAYS_MS[Math.min(failures, RESTART_DELAYS_MS.length - 1)];
    const { signal } = this.#stopping;
    // A rejection is the abort, which the next line sees.
    await delay(wait, undefined, { signal, ref: false }).catch(() => undefined);
    if (this.#isStopping()) return true;
    try {
      const uiPort = await firstFree([this.#ports.uiPort]);
      this.#ports = { ...this.#ports, uiPort };
      this.#engine = await launch(this.#options, this.#ports, signal);
      if (this.#isStopping()) await this.#engine.end();
      return true;
    } catch (error) {
      if (this.#isStopping()) return true;
      this.#options.logger.error({ err: error }, 'the engine did not start; trying again');
      return false;
    }
  }
}
