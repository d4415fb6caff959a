/**
 * A thousand followers of one turn, and some that do not read: how long a chunk takes to each of them, and what the server
 * holds in memory for them.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { Crowd } from '../crowd/crowd.js';
import { BenchSession } from '../installation/bench-session.js';
import { residentBytes } from '../installation/memory.js';
import { timeFigure, type Figure, type Measurement } from '../measurement.js';

const FOLLOWERS = 1000;
const STALLED = 50;
const CHUNKS = 5000;
const CHUNKS_A_SECOND = 100;
const SAMPLE_MS = 250;
/** How long after the crowd has left memory is looked at again. */
const REST_MS = 5000;

const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MB`;

export const manyFollowers: Measurement = {
  name: 'followers',
  title: 'From the provider to a thousand followers of one turn',
  run: async (bench) => {
    const installation = await bench.fresh();
    const { api, pid } = installation;
    const session = await BenchSession.create(api);
    const before = residentBytes(pid);
    const crowd = await Crowd.join({
      url: `${api.url}/v1/sessions/${session.id}/events`,
      followers: FOLLOWERS,
      stalled: STALLED,
      chunks: CHUNKS,
    });
    const attached = residentBytes(pid);
    await bench.model.play({ kind: 'stamps', count: CHUNKS, intervalMs: 1000 / CHUNKS_A_SECOND });
    await session.prompt();
    let during = attached;
    while ((await crowd.report()).ended < FOLLOWERS) {
      during = Math.max(during, residentBytes(pid));
      await wait(SAMPLE_MS);
    }
    const { faults, p50Ms, p99Ms, worstMs } = await crowd.report();
    if (faults > 0) throw new Error(`${String(faults)} chunks were missing, double or out of place.`);
    crowd.leave();
    await wait(REST_MS);
    const what = `chunk to each of ${String(FOLLOWERS)} followers, ${String(CHUNKS)} chunks at ${String(CHUNKS_A_SECOND)} a second`;
    return [
      timeFigure(`${what}, p50`, p50Ms),
      timeFigure('  p99', p99Ms),
      timeFigure('  worst', worstMs),
      ...memoryFigures({ before, attached, during, after: residentBytes(pid) }),
    ];
  },
};

function memoryFigures(
  memory: Readonly<Record<'before' | 'attached' | 'during' | 'after', number>>,
): Figure[] {
  return [
    { what: `memory of \`serve\` before`, value: megabytes(memory.before) },
    {
      what: `  with ${String(FOLLOWERS)} that read and ${String(STALLED)} that do not`,
      value: megabytes(memory.attached),
    },
    { what: '  at most during the turn', value: megabytes(memory.during) },
    { what: `  ${String(REST_MS / 1000)} s after they have left`, value: megabytes(memory.after) },
  ];
}
