import { pino } from 'pino';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { watchHealth, type HealthWatch } from '../../src/runtime/engine/health-watch.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

describe('an engine somewhere else', () => {
  it('is seen to be away while it says nothing, and to be back', async () => {
    let isSilent = false;
    const proxy = await TcpProxy.start(`http://${inject('temporalAddress')}`, (bytes) =>
      isSilent ? null : bytes,
    );
    ends.push(() => proxy.stop());
    const told: string[] = [];
    const watch: HealthWatch = watchHealth({
      address: new URL(proxy.url).host,
      namespace: 'default',
      logger: pino({ level: 'silent' }),
      onUp: () => told.push('up'),
      onAway: (failures) => told.push(`away ${String(failures)}`),
    });
    ends.push(() => watch.stop());
    expect(watch.isUp()).toBe(true);
    isSilent = true;
    await expect.poll(() => watch.isUp(), { timeout: 20_000 }).toBe(false);
    expect(told[0]).toBe('away 2');
    isSilent = false;
    await expect.poll(() => watch.isUp(), { timeout: 20_000 }).toBe(true);
    expect(told.filter((what) => what === 'up')).toHaveLength(1);
  });
});
