import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** The native core of the Temporal worker crashes in worker threads. */
const pool = 'forks' as const;

export default defineConfig({
  test: {
    pool,
    // Most tests wait for something else most of the time; the default leaves one core to nobody.
    maxWorkers: availableParallelism(),
    reporters: ['default', './test/support/closing-line-reporter.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          pool,
          include: ['test/{unit,contract,conformance,api}/**/*.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'engine',
          pool,
          include: ['test/{activity,workflow,replay,bundle}/**/*.test.ts'],
          globalSetup: ['test/support/temporal-server.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'e2e',
          pool,
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // Each starts whole servers: after all others, and two at a time.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
