/**
 * `npm run bench`: runs the measurements and writes `bench/RESULTS.md`.
 *
 * `--only NAME` (more than once) runs those alone and writes nothing; `--cpu-prof FOLDER` has every `serve` write a
 * profile there when it ends; `--list` names the measurements.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchSession, READ_CALL } from './installation/bench-session.js';
import { Homes } from './installation/homes.js';
import { Installation } from './installation/installation.js';
import { describeMachine } from './machine.js';
import type { Bench, Measurement } from './measurement.js';
import { approval } from './measurements/approval.js';
import { cancel } from './measurements/cancel.js';
import { liveStream } from './measurements/live-stream.js';
import { manyFollowers } from './measurements/many-followers.js';
import { promptAccepted } from './measurements/prompt-accepted.js';
import { recovery } from './measurements/recovery.js';
import { serveReady } from './measurements/serve-ready.js';
import { stepGap } from './measurements/step-gap.js';
import { bareStep } from './peers/bare-step.js';
import { sqliteCommit } from './peers/sqlite-commit.js';
import { renderReport, type Section } from './report.js';
import { ScriptedModel } from './scripted-model/scripted-model.js';

const MEASUREMENTS: readonly Measurement[] = [
  sqliteCommit,
  promptAccepted,
  stepGap,
  bareStep,
  liveStream,
  approval,
  manyFollowers,
  cancel,
  serveReady,
  recovery,
];
const RESULTS = new URL('RESULTS.md', import.meta.url);
/** Steps that bring the process to its normal speed before anything is measured. */
const WARM_UP_STEPS = 40;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    list: { type: 'boolean', default: false },
    'cpu-prof': { type: 'string' },
  },
});

if (values.list) {
  for (const { name, title } of MEASUREMENTS) console.log(`${name.padEnd(10)} ${title}`);
} else {
  const chosen = MEASUREMENTS.filter(({ name }) => values.only?.includes(name) ?? true);
  if (chosen.length === 0)
    throw new Error(`There is no measurement ${values.only?.join(', ') ?? ''}; see --list.`);
  await measure(chosen, values.only === undefined);
}

async function measure(measurements: readonly Measurement[], isWhole: boolean): Promise<void> {
  const started = performance.now();
  const machine = await describeMachine();
  const homes = new Homes();
  const model = await ScriptedModel.start();
  const installations: Installation[] = [];
  let shared: Promise<Installation> | undefined;
  const fresh = async (): Promise<Installation> => {
    const installation = await Installation.start({
      home: homes.make(),
      modelUrl: model.url,
      nodeArguments: profilerArguments(),
    });
    installations.push(installation);
    return installation;
  };
  const bench: Bench = {
    model,
    fresh,
    shared: () => (shared ??= fresh().then((installation) => warmedUp(installation, model))),
  };
  try {
    const sections: Section[] = [];
    for (const measurement of measurements) {
      console.error(`… ${measurement.title}`);
      sections.push({ title: measurement.title, figures: await measurement.run(bench) });
    }
    const report = renderReport(machine, sections, (performance.now() - started) / 1000);
    console.log(report);
    if (isWhole) writeFileSync(RESULTS, report);
  } finally {
    for (const installation of installations) await installation.stop();
    model.stop();
    homes.removeAll();
  }
}

async function warmedUp(installation: Installation, model: ScriptedModel): Promise<Installation> {
  await model.play({ kind: 'turn', steps: WARM_UP_STEPS, call: READ_CALL });
  await (await BenchSession.create(installation.api)).run();
  return installation;
}

function profilerArguments(): readonly string[] {
  const folder = values['cpu-prof'];
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(folder)}`];
}
