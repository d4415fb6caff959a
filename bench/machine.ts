/** What the figures were measured on. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { findTemporalCli } from '../src/runtime/engine/find-temporal-cli.js';

/** Lines of Markdown; the load is that before the run. */
export async function describeMachine(): Promise<string[]> {
  const cli = await findTemporalCli();
  const temporal = execFileSync(cli.path, ['--version'], { encoding: 'utf8' }).trim();
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  const load = loadavg().map((value) => value.toFixed(1));
  return [
    `- ${new Date().toISOString()}`,
    `- ${String(availableParallelism())} cores of ${cpuModel()}, ${memory} GiB, load ${load.join(' ')} before the run`,
    `- Node.js ${process.version}, ${process.platform} ${process.arch}`,
    `- ${temporal}; @temporalio/worker ${packageVersion('@temporalio/worker')}; better-sqlite3 ${packageVersion('better-sqlite3')}`,
  ];
}

function cpuModel(): string {
  return cpus()[0]?.model.trim() ?? 'unknown processor';
}

function packageVersion(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
