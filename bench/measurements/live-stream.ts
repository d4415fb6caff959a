/** How long a chunk of the model takes to reach a follower over HTTP: stored on the way, as every frame is. */
import { timeFigure, type Measurement } from '../measurement.js';
import { BenchSession } from '../installation/bench-session.js';
import { Follower } from '../installation/follower.js';
import { median, percentile, worst } from '../statistics.js';

const CHUNKS = 1000;
const CHUNKS_A_SECOND = 200;
const MEDIAN_TARGET_MS = 10;
const P99_TARGET_MS = 50;

export const liveStream: Measurement = {
  name: 'stream',
  title: 'From the provider to a follower',
  run: async (bench) => {
    const { api } = await bench.shared();
    const session = await BenchSession.create(api);
    const follower = await Follower.start(api.url, session.id);
    await bench.model.play({ kind: 'stamps', count: CHUNKS, intervalMs: 1000 / CHUNKS_A_SECOND });
    await session.prompt();
    await follower.turnEnd(1);
    const delays = follower.frames.flatMap(({ frame, at }) =>
      frame.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [at - Number(chunk.text)] : [])),
    );
    follower.close();
    if (delays.length !== CHUNKS)
      throw new Error(`${String(delays.length)} of ${String(CHUNKS)} chunks came.`);
    return [
      timeFigure(
        `chunk to follower at ${String(CHUNKS_A_SECOND)} chunks a second, n=${String(CHUNKS)}, p50`,
        median(delays),
        MEDIAN_TARGET_MS,
      ),
      timeFigure('  p99', percentile(delays, 0.99), P99_TARGET_MS),
      timeFigure('  worst', worst(delays)),
    ];
  },
};
