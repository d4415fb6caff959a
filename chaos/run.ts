/**
 * A run of chaos: rounds in which callers work and things break, each followed by a calm in which everything has to come to
 * rest, and by a look at every log.
 */
import type { SessionEvent } from '../src/contract/events.js';
import { insist } from './careful.js';
import { checkSession, emptyTally, recoveryTimes, type Tally } from './checks.js';
import { startInstallation, type ChaosInstallation } from './installation.js';
import { planRound, type FaultKind } from './plan.js';
import { seeded } from './random.js';
import { startWorkload } from './workload.js';

export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly sessions: number;
  /** Faults in a round. */
  readonly faults: number;
  /** Whether the engine is somewhere else, so that the way to it can be cut. */
  readonly external: boolean;
  /** Told what happens, for a person who waits. */
  readonly print: (line: string) => void;
}

export interface ChaosResult extends Tally {
  readonly rounds: number;
  readonly failedRounds: number;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  readonly recoveries: readonly { readonly fromKill: number; readonly fromReady: number }[];
  /** Kept where something failed; else removed. */
  readonly home: string;
}

/** In the calm something has to move at least so often, until every turn has ended. */
const REST_MS = 60_000;
const PAGE = 1000;

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, minutes, external, print } = options;
  const random = seeded(seed);
  const until = Date.now() + minutes * 60_000;
  const installation = await startInstallation({ external });
  const tally = emptyTally();
  const recoveries: ChaosResult['recoveries'][number][] = [];
  let rounds = 0;
  let failedRounds = 0;
  let refusalsSeen = 0;
  try {
    // One round that fails is enough: what comes after it would only hide it.
    while (Date.now() < until && failedRounds === 0) {
      rounds += 1;
      const logs = await runRound(installation, rounds, { ...options, random, tally });
      for (const events of logs) recoveries.push(...recoveryTimes(events, installation.restarts));
      const refusals = installation.refusals();
      for (const refusal of refusals.slice(refusalsSeen))
        tally.violations.push(`the model refused: ${refusal}`);
      refusalsSeen = refusals.length;
      const holds = holdsStill(tally);
      if (!holds) failedRounds += 1;
      print(
        `round ${String(rounds)}: ${holds ? 'holds' : 'FAILED'}; so far ` +
          `${String(tally.turns)} turns, ${String(tally.tools)} calls, ${String(killsOf(installation.counts))} kills`,
      );
    }
  } finally {
    await installation.stop();
  }
  const { counts, folder } = installation;
  if (holdsStill(tally)) folder.remove();
  else print(installation.output());
  return { ...tally, rounds, failedRounds, faults: counts, recoveries, home: folder.home };
}

function holdsStill({ violations }: Tally): boolean {
  return violations.length === 0;
}

/** Processes that were killed. */
export function killsOf(counts: ChaosResult['faults']): number {
  const { 'kill-server': servers = 0, 'kill-engine': engines = 0, 'kill-both': both = 0 } = counts;
  return servers + engines + 2 * both;
}

interface RoundScope extends ChaosOptions {
  readonly random: ReturnType<typeof seeded>;
  readonly tally: Tally;
}

async function runRound(
  installation: ChaosInstallation,
  round: number,
  { random, tally, ...options }: RoundScope,
): Promise<readonly (readonly SessionEvent[])[]> {
  const { client, workspace } = installation;
  const plan = planRound(random.fork(), round, options);
  const workload = startWorkload(client, plan.sessions, {
    name: `r${String(round)}`,
    workspace,
    random: random.fork(),
  });
  for (const fault of plan.faults) {
    await new Promise((resolve) => setTimeout(resolve, fault.afterMs));
    await installation.apply(fault);
  }
  await installation.calm();
  await workload.done;
  const busy = await workload.rest(REST_MS);
  for (const id of busy) tally.violations.push(`${id}: does not come to rest`);
  await workload.stop();
  const logs: SessionEvent[][] = [];
  for (const session of workload.sessions) {
    const events = await wholeLog(installation, session.id);
    checkSession(tally, session, events, workspace);
    logs.push(events);
  }
  return logs;
}

async function wholeLog({ client }: ChaosInstallation, id: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for (let after: number | null = -1; after !== null;) {
    const from: number = after;
    const page = await insist(() => client.events(id, { after: from, limit: PAGE }));
    events.push(...page.items);
    after = page.nextCursor;
  }
  return events;
}
