// All that CI runs. What only reads the sources is checked beside the build, then the tests have the machine for
// themselves. Each step's output is printed as one piece; the first that fails ends the run, after what runs beside it.
import { spawn } from 'node:child_process';

const BESIDE_EACH_OTHER = [
  ['format:check', 'lint'],
  ['typecheck', 'build'],
];

function run(command, args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio });
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => output.push(part));
    child.once('error', reject);
    child.once('close', (code) => resolve({ isGood: code === 0, output: Buffer.concat(output) }));
  });
}

let isGood = true;
async function runInTurn(scripts) {
  for (const script of scripts) {
    if (!isGood) return;
    const result = await run('npm', ['run', script], ['ignore', 'pipe', 'pipe']);
    process.stdout.write(result.output);
    if (!result.isGood) {
      console.error(`npm run ${script} failed.`);
      isGood = false;
    }
  }
}

await Promise.all(BESIDE_EACH_OTHER.map(runInTurn));
if (isGood) ({ isGood } = await run('npx', ['vitest', 'run'], 'inherit'));
process.exitCode = isGood ? 0 : 1;
