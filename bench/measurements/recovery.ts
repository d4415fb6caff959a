/** How soon a turn goes on after `serve`, or all of the installation, was killed in mid-stream and started again. */
import { timeFigure, type Bench, type Figure, type Measurement } from '../measurement.js';
import { BenchSession } from '../installation/bench-session.js';
import { Follower } from '../installation/follower.js';
import { median, worst } from '../statistics.js';

const TIMES = 3;
/** The embedded engine's limit for a silent activity. */
const HEARTBEAT_MS = 3000;
const TARGET_MS = 1000;

export const recovery: Measurement = {
  name: 'recovery',
  title: '`kill -9` in mid-stream, then a start, to the next model request',
  run: async (bench) => {
    const figures: Figure[] = [];
    for (const [what, withEngine] of [
      ['`serve` killed', false],
      ['`serve` and engine killed', true],
    ] as const) {
      const recovered: Recovered[] = [];
      for (let time = 0; time < TIMES; time += 1) recovered.push(await recover(bench, withEngine));
      const beyond = recovered.map(({ beyondMs }) => beyondMs);
      figures.push(
        timeFigure(
          `${what}, n=${String(TIMES)}: ready to request, median`,
          median(recovered.map(({ fromReadyMs }) => fromReadyMs)),
        ),
        timeFigure('  kill to request, median', median(recovered.map(({ fromKillMs }) => fromKillMs))),
        timeFigure('  beyond ready and heartbeat timeout, worst', worst(beyond), TARGET_MS),
      );
    }
    return figures;
  },
};

interface Recovered {
  readonly fromKillMs: number;
  readonly fromReadyMs: number;
  /** What is left where ready and the heartbeat timeout, whichever was later, are taken off. */
  readonly beyondMs: number;
}

async function recover(bench: Bench, withEngine: boolean): Promise<Recovered> {
  const first = await bench.fresh();
  const session = await BenchSession.create(first.api);
  const follower = await Follower.start(first.api.url, session.id);
  await bench.model.play({ kind: 'endless', intervalMs: 5 });
  await session.prompt();
  await follower.shownText(1);
  const killedAt = await first.kill(withEngine);
  follower.close();
  const second = await first.again();
  const { arrivedAt } = await bench.model.request(1);
  await second.stop();
  return {
    fromKillMs: arrivedAt - killedAt,
    fromReadyMs: arrivedAt - second.readyAt,
    beyondMs: arrivedAt - Math.max(second.readyAt, killedAt + HEARTBEAT_MS),
  };
}
