/** Checks who has the home, and whether it answers. */
import { z } from 'zod';
import { isHomeLocked, readLiveServer } from '../home/home-lock.js';
import { type Check, type Finding, ok, problem, warning } from './check.js';

const ANSWER_TIMEOUT_MS = 5_000;
/** All that is looked at of `GET /readyz`. */
const readinessSchema = z.object({ status: z.string(), version: z.string() });

export const serverCheck: Check = {
  name: 'server',
  run: async ({ configuration: { home } }) => {
    const server = readLiveServer(home);
    if (server !== undefined) return askServer(server);
    return isHomeLocked(home)
      ? warning(`A process has the home ${home} and does not serve: it starts, stops, or is stuck.`)
      : ok('No server runs on the home; "turnkeeper serve" starts one.');
  },
};

async function askServer({ url, pid }: { readonly url: string; readonly pid: number }): Promise<Finding> {
  const who = `The server at ${url} (process ${String(pid)})`;
  try {
    const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    const { status, version } = readinessSchema.parse(await response.json());
    return response.ok
      ? ok(`${who} is ready; its version is ${version}.`)
      : warning(`${who} is ${status}. Its log says why where that does not pass.`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return problem(`${who} does not answer: ${why}. Stop that process and start it again.`);
  }
}
