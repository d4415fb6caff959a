/** Runs the checks in their order: first what everything needs, then what single parts need. */
import { loadConfiguration } from '../configuration/load-configuration.js';
import type { ConfigurationFlags } from '../configuration/settings.js';
import { type Check, type CheckContext, type Finding, ok, problem } from './check.js';
import { homeCheck } from './home-check.js';
import { bashCheck, nodeCheck, ripgrepCheck, temporalCliCheck } from './program-checks.js';
import { sandboxCheck } from './sandbox-check.js';
import { serverCheck } from './server-check.js';
import { storeCheck } from './store-check.js';

const CHECKS: readonly Check[] = [
  nodeCheck,
  homeCheck,
  storeCheck,
  serverCheck,
  temporalCliCheck,
  bashCheck,
  ripgrepCheck,
  sandboxCheck,
];

export interface NamedFinding extends Finding {
  readonly check: string;
}

/** Yields each finding once it is made. Never throws; without a configuration that is its only finding. */
export async function* runDoctor(
  flags: ConfigurationFlags,
  env: NodeJS.ProcessEnv,
): AsyncGenerator<NamedFinding> {
  let context: CheckContext;
  try {
    const { configuration, file } = loadConfiguration({ flags, env });
    context = { configuration, env };
    yield {
      check: 'configuration',
      ...ok(file === undefined ? 'There is no file, so all is by default.' : `It is read from ${file}.`),
    };
  } catch (error) {
    yield { check: 'configuration', ...problem(messageOf(error)) };
    return;
  }
  for (const check of CHECKS) {
    const finding = await check.run(context).catch((error: unknown) => problem(messageOf(error)));
    yield { check: check.name, ...finding };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
