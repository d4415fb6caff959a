/**
 * A process for the lock's tests: takes the home given as argument, says so in one line, and keeps it until it is
 * killed. Says the message of the error where it cannot have the home. Needs `--expose-gc`.
 */
import { setImmediate as nextTask } from 'node:timers/promises';
import { HomeLockedError } from '../../../../src/runtime/home/home-error.js';
import { acquireHomeLock } from '../../../../src/runtime/home/home-lock.js';

const [home = '', url] = process.argv.slice(2);

/** Drops the handle: the lock must not hang on anybody keeping it. */
function take(): void {
  const lock = acquireHomeLock(home);
  if (url !== undefined) lock.publishServer(url);
}

try {
  take();
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await nextTask();
  }
  console.log('locked');
  setInterval(() => undefined, 60_000);
} catch (error) {
  console.log(error instanceof HomeLockedError ? error.message : String(error));
}
