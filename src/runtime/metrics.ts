/**
 * The numbers that a monitoring system scrapes, in the format of Prometheus. No content, no names of sessions.
 *
 * Owns the registry and what is asked at each scrape. Where a number cannot be had, it is left out of that scrape.
 */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { SessionStore } from '../store/session-store.js';

/** Whatever its log did last, a turn is older. */
const END_OF_TIME = '9999-12-31T23:59:59.999Z';

export interface MetricSources {
  readonly version: string;
  readonly store: Pick<SessionStore, 'openTurns' | 'ping'>;
  readonly isEngineUp: () => boolean;
  readonly stuckTurns: () => number;
}

export interface Metrics {
  readonly contentType: string;
  read(): Promise<string>;
}

export function createMetrics({ version, store, isEngineUp, stuckTurns }: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, collect: (gauge: Gauge<'status'>) => void | Promise<void>) =>
    new Gauge({
      name: `turnkeeper_${name}`,
      help,
      labelNames: ['status'],
      registers: [registry],
      async collect() {
        await collect(this);
      },
    });
  new Gauge({
    name: 'turnkeeper_build_info',
    help: 'Always 1; the version is a label.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  gauge('engine_up', 'Whether the engine answers.', (up) => {
    up.set(isEngineUp() ? 1 : 0);
  });
  gauge('store_up', "Whether the session log's database answers.", async (up) => {
    up.set((await store.ping()) ? 1 : 0);
  });
  gauge('open_turns', 'Turns that have not ended, by the status of their session.', async (open) => {
    const records = await store.openTurns(END_OF_TIME).catch(() => undefined);
    open.reset();
    for (const { status } of records ?? []) open.inc({ status });
  });
  gauge('stuck_turns', 'Open turns whose workflow this build cannot replay.', (stuck) => {
    stuck.set(stuckTurns());
  });
  return { contentType: registry.contentType, read: () => registry.metrics() };
}
