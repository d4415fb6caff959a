/** How long a cancel takes, from its request to the closed socket of the provider or the dead process of a command. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { nowMs } from '../clock.js';
import { timeFigure, type Bench, type Figure, type Measurement } from '../measurement.js';
import { BenchSession } from '../installation/bench-session.js';
import { Follower } from '../installation/follower.js';
import type { Api } from '../installation/api.js';
import { median, worst } from '../statistics.js';
import { until } from '../until.js';

const TIMES = 15;
const MEDIAN_TARGET_MS = 200;
const WORST_TARGET_MS = 2000;
const PID_FILE = 'pid';

export const cancel: Measurement = {
  name: 'cancel',
  title: 'From the cancel to the end of what runs',
  run: async (bench) => {
    const { api } = await bench.shared();
    const figures: Figure[] = [];
    for (const [what, once] of [
      ['in mid-stream, to the closed socket', midStream],
      ['before the first byte, to the closed socket', silent],
      ['in `bash`, to the dead process', inCommand],
    ] as const) {
      const delays: number[] = [];
      for (let time = 0; time < TIMES; time += 1) delays.push(await once(bench, api));
      figures.push(
        timeFigure(`${what}, n=${String(TIMES)}, median`, median(delays), MEDIAN_TARGET_MS),
        timeFigure('  worst', worst(delays), WORST_TARGET_MS),
      );
    }
    return figures;
  },
};

async function midStream(bench: Bench, api: Api): Promise<number> {
  const session = await BenchSession.create(api);
  const follower = await Follower.start(api.url, session.id);
  await bench.model.play({ kind: 'endless', intervalMs: 5 });
  await session.prompt();
  await follower.shownText(1);
  const { sentAt } = await session.cancel();
  const brokenAt = await bench.model.broken(0);
  await follower.turnEnd(1);
  follower.close();
  return brokenAt - sentAt;
}

async function silent(bench: Bench, api: Api): Promise<number> {
  const session = await BenchSession.create(api);
  await bench.model.play({ kind: 'silent' });
  await session.prompt();
  await bench.model.request(0);
  const { sentAt } = await session.cancel();
  const brokenAt = await bench.model.broken(0);
  await session.idle();
  return brokenAt - sentAt;
}

async function inCommand(bench: Bench, api: Api): Promise<number> {
  const session = await BenchSession.create(api);
  const command = `echo $$ > ${PID_FILE}.part && mv ${PID_FILE}.part ${PID_FILE} && sleep 60; true`;
  await bench.model.play({ kind: 'turn', steps: 1, call: { name: 'bash', arguments: { command } } });
  await session.prompt();
  const file = join(session.workspace, PID_FILE);
  const pid = await until('pid of the command', () =>
    existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined,
  );
  const { sentAt } = await session.cancel();
  while (isAlive(pid)) await wait(1);
  const deadAt = nowMs();
  await session.idle();
  return deadAt - sentAt;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // There is no such process.
    return false;
  }
}
