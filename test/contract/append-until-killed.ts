/**
 * A process of `sqlite-crash.test.ts`: it writes to a store without end, until it is killed. Each line on standard output
 * is a JSON array `[seq, frame]` of what has been committed.
 */
import type { SessionUid } from '../../src/contract/ids.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { owner, title } from './session-store/store-fixture.js';

const [path = '', uid = ''] = process.argv.slice(2);
const store = await openSqliteStore({ path, clock: Date.now });
const session = uid as SessionUid;
const text = 'x'.repeat(70_000);
const grant = await store.transact(session, (transaction) =>
  transaction.openAttempt({ turn: 1, step: 1 }, owner({ activityId: `process-${process.pid.toString()}` })),
);
const ref = { turn: 1, step: 1, attempt: grant.kind === 'granted' ? grant.attempt : 0 };

for (let n = 0; ; n++) {
  const [first] = await store.transact(session, async (transaction) => {
    const events = await transaction.append([title(`${n.toString()} a`), title(`${n.toString()} b`)]);
    await transaction.append([
      {
        type: 'user/message',
        turn: 1,
        step: 1,
        surface: 'append',
        data: {
          messageId: n.toString() as never,
          content: [{ type: 'text', text: n.toString() + text }],
          source: { kind: 'subagent' },
        },
      },
    ]);
    return events;
  });
  const frame = await store.appendFrame(session, ref, {
    index: n,
    chunks: [{ type: 'text-delta', index: 0, text: n.toString() }],
  });
  process.stdout.write(`${JSON.stringify([first?.seq, frame])}\n`);
}
