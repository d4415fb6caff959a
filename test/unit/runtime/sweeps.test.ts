import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { startSweeps, type Sweeper } from '../../../src/runtime/sweeps.js';

let sweeper: Sweeper | undefined;
afterEach(() => {
  sweeper?.stop();
});
const logger = pino({ level: 'silent' });

describe('sweeps', () => {
  it('look at everything once more where they are asked to in the middle of one, and never two at a time', async () => {
    const waiting: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const seen: boolean[] = [];
    sweeper = startSweeps(
      async (all) => {
        seen.push(all);
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => waiting.push(resolve));
        running -= 1;
      },
      { what: 'tests', logger },
    );
    const again = sweeper.sweepAll();
    expect(seen).toEqual([true]);
    waiting.shift()?.();
    await expect.poll(() => seen).toEqual([true, true]);
    waiting.shift()?.();
    await again;
    expect(most).toBe(1);
  });

  it('go on after one that failed', async () => {
    let sweeps = 0;
    sweeper = startSweeps(
      () => {
        sweeps += 1;
        return sweeps === 1 ? Promise.reject(new Error('the log is away')) : Promise.resolve();
      },
      { what: 'tests', logger },
    );
    await sweeper.sweepAll();
    expect(sweeps).toBe(2);
  });
});
