import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { identifyProcess, isRunning } from '../../../../src/runtime/home/process-identity.js';

describe('the identity of a process', () => {
  it('stays the same while the process runs', () => {
    const own = identifyProcess(process.pid);
    expect(own).toMatchObject({ pid: process.pid });
    expect(identifyProcess(process.pid)).toEqual(own);
    expect(own !== undefined && isRunning(own)).toBe(true);
  });

  it('is another one for a later process with the same pid', () => {
    expect(isRunning({ pid: process.pid, startTime: 'earlier' })).toBe(false);
  });

  it('ends with the process', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const identity = identifyProcess(child.pid!)!;
    expect(isRunning(identity)).toBe(true);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    expect(isRunning(identity)).toBe(false);
    expect(identifyProcess(child.pid!)).toBeUndefined();
  });
});
