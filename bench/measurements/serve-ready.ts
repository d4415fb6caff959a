/** How long `serve` takes from its start to being ready, in a new home and in one that was used. */
import { timeFigure, type Measurement } from '../measurement.js';
import { median, worst } from '../statistics.js';

const TIMES = 3;
const TARGET_MS = 4000;

export const serveReady: Measurement = {
  name: 'ready',
  title: 'From the start of `serve` to ready',
  run: async (bench) => {
    const cold: number[] = [];
    const warm: number[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      const first = await bench.fresh();
      cold.push(first.readyMs);
      await first.stop();
      const second = await first.again();
      warm.push(second.readyMs);
      await second.stop();
    }
    return [
      timeFigure(`new home, n=${String(TIMES)}, median`, median(cold)),
      timeFigure('  worst', worst(cold)),
      timeFigure(`used home, n=${String(TIMES)}, median`, median(warm), TARGET_MS),
      timeFigure('  worst', worst(warm)),
    ];
  },
};
