/**
 * A process for the tests of lost jobs: starts the command that is given in the session that is given, says the job's id
 * in one line, and keeps the job until it is killed, or stops it on SIGTERM.
 */
import { openJobs } from './jobs-fixture.js';
import { sessionUidSchema } from '../../../../src/contract/ids.js';

const [folder = '', uid = '', workspace = '', command = ''] = process.argv.slice(2);
const background = openJobs(folder);
const stay = setInterval(() => undefined, 60_000);
process.on('SIGTERM', () => {
  void background.stop().then(() => {
    clearInterval(stay);
  });
});
console.log(
  await background.ofSession(sessionUidSchema.parse(uid)).start({
    scope: { workspace, protectedPaths: [] },
    sandbox: null,
    command,
    workdir: undefined,
    timeoutMs: 60_000,
    idempotencyKey: `${uid}/1.1.0`,
  }),
);
