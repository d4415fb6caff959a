/** The engine of this installation: the embedded one, or a Temporal server that the configuration names. */
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Configuration } from '../contract/configuration.js';
import { startEmbeddedEngine } from './engine/embedded-engine.js';
import { engineUnreachable } from './engine/engine-error.js';
import { findTemporalCli } from './engine/find-temporal-cli.js';
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
  if (address !== null) {
    // Its health is seen by each call; there is nothing to start and nothing to stop.
    return {
      address,
      embedded: false,
      isUp: () => true,
      onUp: () => undefined,
      stop: () => Promise.resolve(),
    };
  }
  const listeners: (() => void)[] = [];
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
      for (const listener of listeners) listener();
    },
  });
  return {
    address: engine.address,
    embedded: true,
    uiUrl: engine.uiUrl,
    isUp: () => engine.state === 'up',
    onUp: (listener) => listeners.push(listener),
    stop: () => engine.stop(),
  };
}
