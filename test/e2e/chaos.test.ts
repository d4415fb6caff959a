/** Three minutes of chaos (`npm run chaos`), always with the same seed. */
import { expect, it } from 'vitest';
import { renderReport } from '../../chaos/report.js';
import { killsOf, runChaos } from '../../chaos/run.js';

it('breaks no promise', async () => {
  const result = await runChaos({
    seed: 20_261,
    minutes: 3,
    sessions: 6,
    faults: 20,
    external: false,
    print: (line) => {
      console.log(line);
    },
  });
  console.log(renderReport(result));
  expect(result.violations, `The home is kept: ${result.home}`).toEqual([]);
  // That it did what it is there for.
  expect(killsOf(result.faults)).toBeGreaterThan(10);
  expect(result.turns).toBeGreaterThan(10);
}, 600_000);
