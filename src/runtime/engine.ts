/** The engine of this installation: the embedded one, or a Temporal server that the configuration names. */
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Configuration } from '../contract/configuration.js';
import { startEmbeddedEngine } from './engine/embedded-engine.js';
import { engineUnreachable } from './engine/engine-error.js';
import { findTemporalCli } from './engine/find-temporal-cli.js';
import { watchHealth } from './engine/health-watch.js';
import type { Home } from './home/prepare-home.js';

export interface Engine {
  /** `host:port` of the server's gRPC endpoint. */
  readonly address: string;
  readonly embedded: boolean;
  readonly uiUrl?: string;
  isUp(): boolean;
  /** Calls back each time the engine is back after it was away. */
  onUp(listener: () => void): void;
  stop(): Promise<void>;
}

/** An embedded engine that did not answer so many calls in a row, some twenty seconds, will answer none. */
const HUNG_AFTER_FAILURES = 7;

export interface StartEngineOptions {
  readonly configuration: Configuration;
  readonly home: Home;
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  readonly onProgress?: ((message: string) => void) | undefined;
}

/** Connects to the engine. @throws EngineError `ENGINE_UNREACHABLE` */
export async function connectEngine(address: string): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect({ address });
  } catch (cause) {
    throw engineUnreachable(address, cause);
  }
}

/** @throws EngineError, TemporalCliNotFoundError */
export async function startEngine(options: StartEngineOptions): Promise<Engine> {
  const { configuration, home, env, logger, onProgress } = options;
  const { address, namespace, port } = configuration.engine;
  const listeners: (() => void)[] = [];
  const tellListeners = (): void => {
    for (const listener of listeners) listener();
  };
  if (address !== null) {
    const health = watchHealth({ address, namespace, logger, onUp: tellListeners });
    return {
      address,
      embedded: false,
      isUp: () => health.isUp(),
      onUp: (listener) => listeners.push(listener),
      stop: () => health.stop(),
    };
  }
  const cli = await findTemporalCli({
    env,
    onFetch: (target) => onProgress?.(`Fetching the Temporal CLI into ${target} (about 50 MB, once)`),
  });
  const engine = await startEmbeddedEngine({
    cli: cli.path,
    home: home.folder,
    port,
    namespace,
    logger,
    env,
    onDown: (cause) => {
      logger.warn({ cause }, 'the embedded engine is down; it is started again');
    },
    onUp: () => {
      logger.info('the embedded engine is back');
      tellListeners();
    },
  });
  const health = watchHealth({
    address: engine.address,
    namespace,
    logger,
    onUp: tellListeners,
    onAway: (failures) => {
      if (failures < HUNG_AFTER_FAILURES) return;
      logger.error({ pid: engine.pid }, 'the embedded engine stands still; its process is replaced');
      engine.replaceProcess();
    },
  });
  return {
    address: engine.address,
    embedded: true,
    uiUrl: engine.uiUrl,
    isUp: () => engine.state === 'up' && health.isUp(),
    onUp: (listener) => listeners.push(listener),
    stop: async () => {
      await health.stop();
      await engine.stop();
    },
  };
}
