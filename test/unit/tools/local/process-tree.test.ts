import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import {
  commandMarks,
  endOrphanedCommand,
  orphanedCommands,
} from '../../../../src/tools/local/process-tree.js';
import { isCommandAlive, uniqueSleep } from '../../../support/processes.js';
import { until } from '../tool-fixture.js';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

async function start(env: Record<string, string>): Promise<string> {
  const sleep = uniqueSleep();
  const [program = '', ...args] = sleep.split(' ');
  started.push(spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' }));
  await until(() => isCommandAlive(sleep));
  return sleep;
}

describe.runIf(process.platform === 'linux')('a command whose process that started it is dead', () => {
  it('is ended, and one of the same key is not that belongs to a process that lives', async () => {
    const key = `orphan-${String(process.pid)}/1.1.0`;
    const owner = spawn('true', { stdio: 'ignore' });
    await once(owner, 'exit');
    const marks = commandMarks(key);
    const living = await start(marks);
    expect(orphanedCommands()).not.toContain(key);
    const orphan = await start({ ...marks, TURNKEEPER_COMMAND_OWNER: `${String(owner.pid)}/1` });
    // A later process may have the pid.
    const another = await start({ ...marks, TURNKEEPER_COMMAND_OWNER: `${String(process.pid)}/1` });
    expect(orphanedCommands()).toContain(key);
    expect(await endOrphanedCommand(key)).toBe(2);
    expect([orphan, another, living].map(isCommandAlive)).toEqual([false, false, true]);
  });
});
