/**
 * One real Temporal server for all tests of the engine tier, started once: the embedded engine, in a home of its own.
 */
import { rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { startEmbeddedEngine } from '../../src/runtime/engine/embedded-engine.js';
import { findTemporalCli } from '../../src/runtime/engine/find-temporal-cli.js';
import { makeDatabaseFolder } from './database-folder.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `host:port` of the Temporal server. */
    temporalAddress: string;
  }
}

const quiet = () => undefined;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = makeDatabaseFolder('turnkeeper-engine-');
  const cli = await findTemporalCli();
  const engine = await startEmbeddedEngine({
    cli: cli.path,
    home,
    namespace: 'default',
    logger: { info: quiet, warn: quiet, error: console.error },
  });
  project.provide('temporalAddress', engine.address);
  return async () => {
    await engine.stop();
    rmSync(home, { recursive: true, force: true });
  };
}
