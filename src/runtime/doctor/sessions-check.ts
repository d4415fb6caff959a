/** Checks every session's log: that it is whole, and that lists say what it says. */
import { existsSync } from 'node:fs';
import type { SessionCheck } from '../../store/repair/check-session.js';
import { storeLocation } from '../configuration/store-location.js';
import { type Check, ok, problem, warning, type Finding } from './check.js';
import { checkedSessions, isWell, schemaAge, withLog } from './log-database.js';

/** More are counted and not named. */
const MAX_NAMED = 10;

export const sessionsCheck: Check = {
  name: 'sessions',
  run: async ({ configuration }) => {
    const { file } = storeLocation(configuration);
    if (!existsSync(file)) return ok('There are no sessions yet.');
    return withLog(file, async (log): Promise<Finding> => {
      if ((await schemaAge(log)) !== 'current') {
        return ok('Another version made the tables, so the logs are not looked through.');
      }
      let count = 0;
      const bad: string[] = [];
      const incomplete: string[] = [];
      for await (const check of checkedSessions(log)) {
        count += 1;
        const { id } = check.session;
        if (!isWell(check)) bad.push(`${id}: ${reasonsOf(check).join('; ')}`);
        else if (check.missingBlobs.length > 0) incomplete.push(id);
      }
      if (bad.length > 0) {
        return problem(
          `${String(bad.length)} of ${String(count)} sessions are not as they should be. Stop the server, make a backup, ` +
            `and run "turnkeeper doctor --repair".\n${named(bad, '\n')}`,
        );
      }
      if (incomplete.length > 0) {
        return warning(
          `The logs of all ${String(count)} sessions are whole, but large contents of ${String(incomplete.length)} are ` +
            `missing, which only a backup can bring back: ${named(incomplete, ', ')}.`,
        );
      }
      return ok(`The logs of all ${String(count)} sessions are whole.`);
    });
  },
};

function reasonsOf({ damage, disagreements, damagedBlobs }: SessionCheck): readonly string[] {
  const blobs =
    damagedBlobs.length === 0 ? [] : [`${String(damagedBlobs.length)} large contents are not what they were`];
  return [...(damage === null ? disagreements : [damage.reason]), ...blobs];
}

function named(all: readonly string[], separator: string): string {
  const more = all.length > MAX_NAMED ? [`and ${String(all.length - MAX_NAMED)} more`] : [];
  return [...all.slice(0, MAX_NAMED), ...more].join(separator);
}
