/** Checks every session's log: that it is whole, and that lists say what it says. */
import { existsSync } from 'node:fs';
import { storeLocation } from '../configuration/store-location.js';
import type { SessionCheck } from '../../store/repair/check-session.js';
import { type Check, ok, problem, warning, type Finding } from './check.js';
import { checkedSessions, isWell, withLogDatabase } from './log-database.js';

/** More are counted and not named. */
const MAX_NAMED = 10;

export const sessionsCheck: Check = {
  name: 'sessions',
  run: async ({ configuration }) => {
    const { file } = storeLocation(configuration);
    if (!existsSync(file)) return ok('There are no sessions yet.');
    return withLogDatabase(file, { readonly: true }, async (log): Promise<Finding> => {
      let count = 0;
      const bad: string[] = [];
      let incomplete = 0;
      for await (const check of checkedSessions(log)) {
        count += 1;
        if (!isWell(check)) bad.push(`${check.session.id}: ${reasonsOf(check).join('; ')}`);
        if (check.missingBlobs.length > 0) incomplete += 1;
      }
      if (bad.length === 0 && incomplete > 0) {
        return warning(
          `The logs of all ${String(count)} sessions are whole, but large contents of ${String(incomplete)} are missing, which only a backup can bring back.`,
        );
      }
      if (bad.length === 0) return ok(`The logs of all ${String(count)} sessions are whole.`);
      const more = bad.length > MAX_NAMED ? [`and ${String(bad.length - MAX_NAMED)} more`] : [];
      return problem(
        [
          `${String(bad.length)} of ${String(count)} sessions are not as they should be. Stop the server and run ` +
            '"turnkeeper doctor --repair"; make a backup before.',
          ...bad.slice(0, MAX_NAMED),
          ...more,
        ].join('\n'),
      );
    });
  },
};

function reasonsOf({ damage, disagreements }: SessionCheck): readonly string[] {
  return damage === null ? disagreements : [damage.reason];
}
