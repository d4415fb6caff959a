/**
 * How long a step takes, from one model request to the next, in turns of several lengths and with several tools; what a
 * step costs in processor time and in the engine's history.
 */
import { Client, Connection } from '@temporalio/client';
import type { Readiness } from '../../src/contract/http.js';
import { turnWorkflowId } from '../../src/contract/ids.js';
import { ms, timeFigure, type Bench, type Figure, type Measurement } from '../measurement.js';
import { BASH_CALL, BenchSession, READ_CALL } from '../installation/bench-session.js';
import { Follower } from '../installation/follower.js';
import type { Installation } from '../installation/installation.js';
import { processorTime, processorTimePerStep, type ProcessorTime } from '../installation/processor-time.js';
import type { PlayedCall } from '../scripted-model/script.js';
import { intervals, median, percentile } from '../statistics.js';

const TARGET_MS = 25;
const HISTORY_TARGET_BYTES = 4096;
/** Above this the last tenth of a long turn counts as slower than the first. */
const GROWTH_TOLERANCE = 1.1;
const LONGEST = 1000;
const BASH_STEPS = 50;
const PLAIN_TURNS = 50;
/** Turns of so many steps, and how often each is run. The history of the longest continues as new, so it is not weighed. */
const READ_TURNS = [
  { steps: 1, times: 30 },
  { steps: 10, times: 6 },
  { steps: 100, times: 2 },
  { steps: 300, times: 1 },
  { steps: LONGEST, times: 1 },
] as const;

export const stepGap: Measurement = {
  name: 'step',
  title: 'A step, from model request to model request',
  run: async (bench) => {
    const installation = await bench.shared();
    const figures: Figure[] = [];
    const histories: TurnHistory[] = [];
    for (const { steps, times } of READ_TURNS) {
      const gaps: number[] = [];
      let turn: MeasuredTurn | undefined;
      for (let time = 0; time < times; time += 1) {
        turn = await measuredTurn(bench, installation, { steps, call: READ_CALL });
        gaps.push(...turn.gaps);
      }
      figures.push(
        timeFigure(
          `quick \`read\`, turns of ${plural(steps)}, n=${String(gaps.length)}, median`,
          median(gaps),
          TARGET_MS,
        ),
        { what: '  p99', value: ms(percentile(gaps, 0.99)) },
      );
      if (turn === undefined) continue;
      if (steps === LONGEST) figures.push(...longTurn(turn));
      else histories.push({ steps, ...(await historyOf(installation, turn.session)) });
    }
    const bash = await measuredTurn(bench, installation, { steps: BASH_STEPS, call: BASH_CALL });
    figures.push(
      timeFigure(`\`bash\` with \`true\`, one turn of ${plural(BASH_STEPS)}, median`, median(bash.gaps)),
      ...(await plainTurns(bench, installation)),
      ...historyFigures(histories),
    );
    return figures;
  },
};

interface MeasuredTurn {
  readonly session: BenchSession;
  readonly gaps: readonly number[];
  /** For each step. */
  readonly serve: ProcessorTime;
  readonly engine: ProcessorTime;
}

/** A turn in a session of its own, with one follower as a person would have one. */
async function measuredTurn(
  bench: Bench,
  { api, pid, enginePid }: Installation,
  { steps, call }: { readonly steps: number; readonly call: PlayedCall },
): Promise<MeasuredTurn> {
  const session = await BenchSession.create(api);
  const follower = await Follower.start(api.url, session.id);
  await bench.model.play({ kind: 'turn', steps, call });
  const before = [processorTime(pid), processorTime(enginePid)] as const;
  await session.prompt();
  await follower.turnEnd(1);
  const serve = processorTimePerStep(before[0], processorTime(pid), steps);
  const engine = processorTimePerStep(before[1], processorTime(enginePid), steps);
  follower.close();
  await session.completed(1);
  const requests = await bench.model.requests();
  if (requests.length !== steps + 1) throw new Error(`${String(requests.length)} model requests came.`);
  return { session, gaps: intervals(requests.map(({ arrivedAt }) => arrivedAt)), serve, engine };
}

function longTurn({ gaps, serve, engine }: MeasuredTurn): Figure[] {
  const tenth = Math.round(gaps.length / 10);
  const [first, last] = [median(gaps.slice(0, tenth)), median(gaps.slice(-tenth))];
  return [
    {
      what: '  first tenth, last tenth, median',
      value: `${ms(first)}, ${ms(last)}`,
      target: 'no growth',
      met: last <= first * GROWTH_TOLERANCE,
    },
    { what: '  processor time a step: `serve`, engine', value: `${ms(serve.usedMs)}, ${ms(engine.usedMs)}` },
    {
      what: '  of a step, `serve` waited for a free processor',
      value: ms(serve.mainWaitedMs),
    },
  ];
}

/** A step without a tool ends its turn: from the model request to `turn/end` at a follower. */
async function plainTurns(bench: Bench, { api }: Installation): Promise<Figure[]> {
  const session = await BenchSession.create(api);
  const follower = await Follower.start(api.url, session.id);
  await bench.model.play({ kind: 'turn', steps: 0, call: READ_CALL });
  const toEnd: number[] = [];
  const whole: number[] = [];
  for (let turn = 1; turn <= PLAIN_TURNS; turn += 1) {
    const { sentAt } = await session.prompt();
    const { at } = await follower.turnEnd(turn);
    toEnd.push(at - (await bench.model.request(turn - 1)).arrivedAt);
    whole.push(at - sentAt);
  }
  follower.close();
  return [
    timeFigure(
      `no tool: model request to \`turn/end\` at a follower, n=${String(PLAIN_TURNS)}, median`,
      median(toEnd),
    ),
    timeFigure('  the whole turn, from the prompt, median', median(whole)),
  ];
}

interface TurnHistory {
  readonly steps: number;
  readonly bytes: number;
  readonly events: number;
}

async function historyOf({ api }: Installation, { uid }: BenchSession): Promise<Omit<TurnHistory, 'steps'>> {
  const { engine } = (await api.call<Readiness>('GET', '/readyz')).body;
  const connection = await Connection.connect({ address: engine.address });
  try {
    const client = new Client({ connection, namespace: engine.namespace });
    const { historySize, historyLength } = await client.workflow
      .getHandle(turnWorkflowId('', uid, 1))
      .describe();
    return { bytes: historySize ?? 0, events: historyLength };
  } finally {
    await connection.close();
  }
}

/** What each further step adds: the turn of one step carries the start and the end of the workflow. */
function historyFigures(histories: readonly TurnHistory[]): Figure[] {
  const [first, ...longer] = histories;
  if (first === undefined) return [];
  return [
    {
      what: 'history of a turn of 1 step',
      value: `${String(first.bytes)} B, ${String(first.events)} events`,
    },
    ...longer.map(({ steps, bytes, events }) => {
      const [bytesAStep, eventsAStep] = [bytes - first.bytes, events - first.events].map(
        (grown) => grown / (steps - 1),
      ) as [number, number];
      return {
        what: `  each further step, in a turn of ${String(steps)}`,
        value: `${bytesAStep.toFixed(0)} B, ${eventsAStep.toFixed(1)} events`,
        target: `<= ${String(HISTORY_TARGET_BYTES)} B, flat`,
        met: bytesAStep <= HISTORY_TARGET_BYTES,
      };
    }),
  ];
}

function plural(steps: number): string {
  return steps === 1 ? '1 step' : `${String(steps)} steps`;
}
