import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive } from '../../../support/processes.js';
import { until } from '../tool-fixture.js';
import { createJobsFixture, type JobsFixture, waitFor } from './jobs-fixture.js';

const OWNER = fileURLToPath(new URL('./own-jobs.ts', import.meta.url));
/** What a stopped process of the job would be: in a session of its own, without a parent. */
const COMMAND = `(setsid bash -c 'echo $$ > pid; exec sleep 1000' &); echo begun; ${waitFor('never')}`;

let fixture: JobsFixture;
let owners: ChildProcess[];
beforeEach(async () => {
  fixture = await createJobsFixture();
  owners = [];
});
afterEach(async () => {
  await Promise.all(owners.map((owner) => end(owner, 'SIGKILL')));
  await fixture.remove();
});

/** Starts a process that runs the job, as a server does. */
async function ownJob() {
  const args = ['--import', 'tsx', OWNER, fixture.folder, fixture.uid, fixture.workspace, COMMAND];
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  owners.push(owner);
  const [jobId] = (await once(createInterface(owner.stdout), 'line')) as [string];
  return { owner, jobId, pid: await fixture.pid('pid') };
}

async function end(owner: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (owner.exitCode !== null || owner.signalCode !== null) return;
  const exited = once(owner, 'exit');
  owner.kill(signal);
  await exited;
}

describe('a job of another process', () => {
  it('is read and ended from here', async () => {
    const { jobId, pid } = await ownJob();
    const running = await fixture.read(fixture.jobs, jobId, { waitMs: 10_000 });
    expect(running).toMatchObject({ head: 'begun\n', status: { kind: 'running' } });
    expect(await fixture.jobs.kill(jobId)).toEqual({ kind: 'killed' });
    expect(isAlive(pid)).toBe(false);
  });

  it('runs still while that process is only stopped', async () => {
    const { owner, jobId } = await ownJob();
    owner.kill('SIGSTOP');
    expect((await fixture.read(fixture.jobs, jobId)).status).toEqual({ kind: 'running' });
  });

  it('is lost once that process was killed, with the output so far and no process left', async () => {
    const { owner, jobId, pid } = await ownJob();
    await end(owner, 'SIGKILL');
    expect(isAlive(pid)).toBe(true);
    const first = await fixture.read(fixture.jobs, jobId);
    expect(first).toMatchObject({ head: 'begun\n', status: { kind: 'lost' } });
    expect(isAlive(pid)).toBe(false);
    expect(await fixture.jobs.kill(jobId)).toEqual({ kind: 'lost' });
  });

  it('is lost after a graceful stop, which leaves no process', async () => {
    const { owner, jobId, pid } = await ownJob();
    await end(owner, 'SIGTERM');
    expect(isAlive(pid)).toBe(false);
    expect(await fixture.read(fixture.jobs, jobId)).toMatchObject({
      head: 'begun\n',
      status: { kind: 'lost' },
    });
  });
});

describe('a stop', () => {
  it('ends all jobs of this process, records them as lost, and lets none start', async () => {
    const jobIds = await Promise.all(
      [1, 2, 3].map((index) => fixture.jobs.start(fixture.request(`echo ${String(index)}; ${COMMAND}`))),
    );
    const pid = await fixture.pid('pid');
    await fixture.background.stop();
    expect(isAlive(pid)).toBe(false);
    const outputs = await Promise.all(jobIds.map((jobId) => fixture.read(fixture.jobs, jobId)));
    expect(outputs.map(({ head, status }) => [head, status.kind])).toEqual(
      [1, 2, 3].map((index) => [`${String(index)}\nbegun\n`, 'lost']),
    );
    await expect(fixture.jobs.start(fixture.request('true'))).rejects.toThrow('the server stops');
  });
});

describe('a job that a successor has given up', () => {
  it('stays lost, whatever its process sees when it wakes, and that process says so in its log', async () => {
    const warned: object[] = [];
    const woken = fixture.open({ logger: { warn: (fields: object) => void warned.push(fields) } });
    const jobs = woken.ofSession(fixture.uid);
    const jobId = await jobs.start(fixture.request(`trap 'exit 0' TERM; ${waitFor('never')}`));
    const successor = fixture.open({
      owner: { pid: 1, startTime: 'another process' },
      isRunning: () => false,
    });
    const seen = await fixture.read(successor.ofSession(fixture.uid), jobId);
    expect(seen.status).toEqual({ kind: 'lost' });
    // Its own process sees an end of its own, after that.
    await until(() => warned.length > 0);
    expect(warned).toMatchObject([{ job: jobId, ending: { kind: 'lost' }, refused: {} }]);
    expect((await fixture.read(jobs, jobId)).status).toEqual({ kind: 'lost' });
  });
});
