/** Checks the providers that profiles name: their keys, and whether anybody answers there. No request costs anything. */
import { createModelCatalog } from '../../model/model-catalog.js';
import { resolveProfiles } from '../configuration/resolve-profiles.js';
import { type Check, ok, problem, warning, worstOf, type Finding } from './check.js';

const ANSWER_TIMEOUT_MS = 5000;
/** Clocks of two machines that are so far apart make times hard to compare, and keys of some providers fail. */
const SKEW_MS = 60_000;

export const providerCheck: Check = {
  name: 'provider',
  run: async ({ configuration, env }) => {
    const { providers } = createModelCatalog(configuration.providers, env);
    const used = new Set(Object.values(resolveProfiles(configuration, env)).map(({ provider }) => provider));
    const findings: Finding[] = [];
    for (const name of used) {
      const entry = providers[name];
      if (entry === undefined || entry.wire === 'demo') continue;
      const { apiKeyEnv, baseUrl } = entry;
      if (apiKeyEnv !== undefined && (env[apiKeyEnv] ?? '') === '') {
        findings.push(problem(`${name} has no key: set the variable ${apiKeyEnv}.`));
      } else if (baseUrl === undefined) {
        findings.push(problem(`${name} has no baseUrl.`));
      } else {
        findings.push(await reach(name, baseUrl));
      }
    }
    if (findings.length === 0) return ok('Only the demo provider is used, which needs nothing.');
    return worstOf(findings);
  },
};

/** Any answer will do: who answers 404 to the bare address is there. */
async function reach(name: string, baseUrl: string): Promise<Finding> {
  try {
    const response = await fetch(baseUrl, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const date = Date.parse(response.headers.get('date') ?? '');
    const skewMs = Number.isNaN(date) ? 0 : Math.abs(Date.now() - date);
    return skewMs > SKEW_MS
      ? warning(
          `${name} answers, and its clock and this machine's are ${String(Math.round(skewMs / 1000))} s apart: set this one's.`,
        )
      : ok(`${name} answers.`);
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return problem(
      `${name} cannot be reached at ${new URL(baseUrl).origin}: ${cause instanceof Error ? cause.message : String(cause)}.`,
    );
  }
}
