/** Checks this machine's clock against what was written by it, and against the engine's. */
import { existsSync } from 'node:fs';
import { storeLocation } from '../configuration/store-location.js';
import { type Check, type CheckContext, type Finding, ok, warning, worstOf } from './check.js';
import { engineAddress, pollersOf, withEngine } from './engine-check.js';
import { withLog } from './log-database.js';

/** Less is a matter of when which clock was read. */
const TOLERATED_MS = 5000;

export const clockCheck: Check = {
  name: 'clock',
  run: async (context) => {
    const ahead = [
      { what: 'The newest event of the session log', at: await newestEvent(context) },
      { what: "The engine's last word", at: await newestPoll(context) },
    ];
    return judgeClock(ahead, Date.now());
  },
};

/** Times that cannot lie in the future, in milliseconds since the epoch; undefined where there is none. */
export function judgeClock(
  times: readonly { readonly what: string; readonly at: number | undefined }[],
  now: number,
): Finding {
  const late = times.flatMap(({ what, at = -Infinity }) =>
    at - now <= TOLERATED_MS
      ? []
      : [
          warning(
            `${what} is ${String(Math.round((at - now) / 1000))} s later than this machine's clock, which says ` +
              `${new Date(now).toISOString()}: set the clock, best by NTP.`,
          ),
        ],
  );
  return late.length === 0 ? ok('Nothing that was written is later than the clock.') : worstOf(late);
}

async function newestEvent({ configuration }: CheckContext): Promise<number | undefined> {
  const { file } = storeLocation(configuration);
  if (!existsSync(file)) return undefined;
  const row = await withLog(file, (log) =>
    log
      .selectFrom('sessions')
      .select(({ fn }) => fn.max('updated_at').as('at'))
      .executeTakeFirst(),
  ).catch(() => undefined); // A log that cannot be read is another check's finding.
  // Of no session there is no newest one.
  const at = Date.parse(row?.at ?? '');
  return Number.isNaN(at) ? undefined : at;
}

/** The engine notes by its own clock when it was asked for work. */
async function newestPoll({ configuration }: CheckContext): Promise<number | undefined> {
  const address = engineAddress(configuration);
  if (address === undefined) return undefined;
  const times = await withEngine(address, (connection) => pollersOf(connection, configuration)).then(
    (pollers) => pollers.map(({ lastAccess }) => lastAccess),
    () => [], // An engine that is away is another check's finding.
  );
  return times.length === 0 ? undefined : Math.max(...times);
}
