/** Runs the checks in their order: first what everything needs, then what single parts need. */
import { pino } from 'pino';
import { type LoadedConfiguration, loadConfiguration } from '../configuration/load-configuration.js';
import type { ConfigurationFlags } from '../configuration/settings.js';
import { assembleConfigured } from '../configured-parts.js';
import { type Check, type Finding, ok, problem } from './check.js';
import { clockCheck } from './clock-check.js';
import { diskCheck } from './disk-check.js';
import { homeCheck } from './home-check.js';
import { bashCheck, nodeCheck, ripgrepCheck, temporalCliCheck } from './program-checks.js';
import { engineCheck, workerCheck } from './engine-check.js';
import { providerCheck } from './provider-check.js';
import { repairLog } from './repair-log.js';
import { sandboxCheck } from './sandbox-check.js';
import { serverCheck } from './server-check.js';
import { sessionsCheck } from './sessions-check.js';
import { turnsCheck } from './turns-check.js';
import { storeCheck } from './store-check.js';

const CHECKS: readonly Check[] = [
  nodeCheck,
  homeCheck,
  diskCheck,
  storeCheck,
  sessionsCheck,
  serverCheck,
  temporalCliCheck,
  engineCheck,
  workerCheck,
  clockCheck,
  providerCheck,
  bashCheck,
  ripgrepCheck,
  sandboxCheck,
];

export interface DoctorWork {
  /** Mends the session log before it looks. */
  readonly repairs: boolean;
  /** The session whose open turn alone is explained; undefined for all. */
  readonly session?: string | undefined;
}

export interface NamedFinding extends Finding {
  readonly check: string;
}

/** Yields each finding once it is made. Never throws; where the configuration cannot be read that is its only finding. */
export async function* runDoctor(
  flags: ConfigurationFlags,
  env: NodeJS.ProcessEnv,
  { repairs, session }: DoctorWork = { repairs: false },
): AsyncGenerator<NamedFinding> {
  let loaded: LoadedConfiguration;
  try {
    loaded = loadConfiguration({ flags, env });
  } catch (error) {
    yield { check: 'configuration', ...problem(messageOf(error)) };
    return;
  }
  yield { check: 'configuration', ...(await tryConfiguration(loaded, env)) };
  if (repairs) {
    try {
      for await (const finding of repairLog(loaded.configuration)) yield { check: 'repair', ...finding };
    } catch (error) {
      yield { check: 'repair', ...problem(messageOf(error)) };
    }
  }
  for (const check of [...CHECKS, turnsCheck(session)]) {
    const finding = await check
      .run({ configuration: loaded.configuration, env })
      .catch((error: unknown) => problem(messageOf(error)));
    yield { check: check.name, ...finding };
  }
}

/** Makes of it what a server makes, extensions included, whose log goes nowhere. */
async function tryConfiguration(loaded: LoadedConfiguration, env: NodeJS.ProcessEnv): Promise<Finding> {
  const { file } = loaded;
  try {
    await assembleConfigured(loaded, { env, logger: pino({ enabled: false }) });
    return ok(file === undefined ? 'There is no file, so all is by default.' : `It is read from ${file}.`);
  } catch (error) {
    return problem(messageOf(error));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
