/** How soon a turn goes on after `serve`, or all of the installation, was killed in the middle of it and started again. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { timeFigure, type Bench, type Figure, type Measurement } from '../measurement.js';
import type { Installation } from '../installation/installation.js';
import { BenchSession } from '../installation/bench-session.js';
import { Follower } from '../installation/follower.js';
import { median, worst } from '../statistics.js';
import { until } from '../until.js';

const TIMES = 3;
/** The embedded engine's limit for a silent activity. */
const HEARTBEAT_MS = 3000;
const TARGET_MS = 1000;

/** Where the turn is when it is killed. */
type Scene = 'stream' | 'tool';

export const recovery: Measurement = {
  name: 'recovery',
  title: '`kill -9` in the middle of a turn, then a start, to the next model request',
  run: async (bench) => {
    const figures: Figure[] = [];
    for (const [what, scene, withEngine] of [
      ['in mid-stream, `serve` killed', 'stream', false],
      ['in mid-stream, `serve` and engine killed', 'stream', true],
      ['in `bash`, `serve` killed', 'tool', false],
      ['in `bash`, `serve` and engine killed', 'tool', true],
    ] as const) {
      const recovered: Recovered[] = [];
      for (let time = 0; time < TIMES; time += 1) recovered.push(await recover(bench, scene, withEngine));
      const beyond = recovered.map(({ beyondMs }) => beyondMs);
      figures.push(
        timeFigure(
          `${what}, n=${String(TIMES)}: ready to request, median`,
          median(recovered.map(({ fromReadyMs }) => fromReadyMs)),
        ),
        timeFigure('  worst', worst(recovered.map(({ fromReadyMs }) => fromReadyMs))),
        timeFigure('  kill to request, median', median(recovered.map(({ fromKillMs }) => fromKillMs))),
        timeFigure('  beyond ready and heartbeat timeout, worst', worst(beyond), TARGET_MS),
      );
    }
    return figures;
  },
};

interface Recovered {
  readonly fromKillMs: number;
  /** Below 0 where the workers were at it before the API answered. */
  readonly fromReadyMs: number;
  /** What is left where ready and the heartbeat timeout, whichever was later, are taken off. */
  readonly beyondMs: number;
}

async function recover(bench: Bench, scene: Scene, withEngine: boolean): Promise<Recovered> {
  const first = await bench.fresh();
  await (scene === 'stream' ? untilStreaming(bench, first) : untilCommandRuns(bench, first));
  const killedAt = await first.kill(withEngine);
  const second = await first.again();
  const { arrivedAt } = await bench.model.request(1);
  await second.stop();
  return {
    fromKillMs: arrivedAt - killedAt,
    fromReadyMs: arrivedAt - second.readyAt,
    beyondMs: Math.max(0, arrivedAt - Math.max(second.readyAt, killedAt + HEARTBEAT_MS)),
  };
}

async function untilStreaming({ model }: Bench, { api }: Installation): Promise<void> {
  const session = await BenchSession.create(api);
  const follower = await Follower.start(api.url, session.id);
  await model.play({ kind: 'endless', intervalMs: 5 });
  await session.prompt();
  await follower.shownText(1);
  follower.close();
}

async function untilCommandRuns({ model }: Bench, { api }: Installation): Promise<void> {
  const session = await BenchSession.create(api);
  const command = 'touch started; sleep 60';
  await model.play({ kind: 'turn', steps: 1, call: { name: 'bash', arguments: { command } } });
  await session.prompt();
  await until('command', () => (existsSync(join(session.workspace, 'started')) ? true : undefined));
}
