/**
 * `npm run chaos -- --minutes 10 --seed 7`: breaks an installation of its own for so long, and says whether anything that
 * was promised was broken.
 *
 * `--sessions N` at once in a round (6), `--faults N` in a round (12), `--engine external` for an engine that is somewhere
 * else, `--json FILE` for the figures. Ends with 1 where a promise was broken; the home is kept then.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { renderReport } from './report.js';
import { runChaos } from './run.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    sessions: { type: 'string', default: '6' },
    faults: { type: 'string', default: '12' },
    engine: { type: 'string', default: 'embedded' },
    json: { type: 'string' },
  },
});

const options = {
  seed: numberOf('seed'),
  minutes: numberOf('minutes'),
  sessions: numberOf('sessions'),
  faults: numberOf('faults'),
  external: engineOf() === 'external',
};
const again = `npm run chaos -- --seed ${values.seed} --minutes ${values.minutes} --sessions ${values.sessions} --faults ${values.faults} --engine ${values.engine}`;
console.log(again);
const result = await runChaos({
  ...options,
  print: (line) => {
    console.log(line);
  },
});
console.log(`\n${renderReport(result)}\n`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
for (const violation of result.violations) console.error(violation);
if (result.violations.length > 0) {
  console.error(`\nThe home is kept: ${result.home}\nTo see it again: ${again}`);
  process.exitCode = 1;
}
console.log(
  `${String(result.rounds - result.failedRounds)} rounds passed, ${String(result.failedRounds)} failed`,
);

function numberOf(name: 'seed' | 'minutes' | 'sessions' | 'faults'): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value > 0) return value;
  console.error(`--${name} takes a number above 0, and not "${values[name]}".`);
  process.exit(2);
}

function engineOf(): string {
  if (['embedded', 'external'].includes(values.engine)) return values.engine;
  console.error(`--engine is "embedded" or "external", and not "${values.engine}".`);
  process.exit(2);
}
