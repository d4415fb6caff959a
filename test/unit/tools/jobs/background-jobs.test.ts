import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolError } from '../../../../src/tools/tool.js';
import { isAlive } from '../../../support/processes.js';
import { until } from '../tool-fixture.js';
import { createJobsFixture, type JobsFixture, shown, waitFor } from './jobs-fixture.js';

let fixture: JobsFixture;
beforeEach(async () => {
  fixture = await createJobsFixture();
});
afterEach(async () => {
  await fixture.remove();
});

const start = (command: string) => fixture.jobs.start(fixture.request(command));
const read = (jobId: string, waitMs = 0) => fixture.read(fixture.jobs, jobId, { waitMs });

/** Waits for the job's end and gives all that it wrote since the last read. */
async function readToEnd(jobId: string) {
  let text = '';
  for (;;) {
    const output = await read(jobId, 10_000);
    text += shown(output);
    if (output.status.kind !== 'running') return { text, status: output.status };
  }
}

/** The size of the files that keep a job's output. */
async function keptBytes(jobId: string): Promise<number> {
  const folder = join(fixture.folder, fixture.uid, jobId);
  const names = (await readdir(folder)).filter((name) => name.startsWith('output'));
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

describe('a background job', () => {
  it('has an id that is made from the key of its call', async () => {
    const key = `${fixture.uid}/3.2.0`;
    expect(await fixture.jobs.start(fixture.request('true', key))).toBe('job-3.2.0');
  });

  it('shows what it has written while it runs, and each read goes on from the one before', async () => {
    const jobId = await start(`echo one; ${waitFor('go')}; echo two >&2; ${waitFor('end')}`);
    expect(await read(jobId, 10_000)).toMatchObject({ head: 'one\n', status: { kind: 'running' } });
    expect(await read(jobId)).toMatchObject({ head: '', status: { kind: 'running' } });
    await fixture.give('go');
    expect(await read(jobId, 10_000)).toMatchObject({ head: 'two\n', status: { kind: 'running' } });
  });

  it('ends with its exit code, and stays so', async () => {
    const jobId = await start('echo bad; exit 7');
    expect(await readToEnd(jobId)).toEqual({ text: 'bad\n', status: { kind: 'exited', exitCode: 7 } });
    expect(await read(jobId, 60_000)).toMatchObject({ head: '', status: { kind: 'exited', exitCode: 7 } });
  });

  it('tells by which signal it ended, and that its time was over', async () => {
    const killed = await start('kill -SEGV $$');
    expect((await readToEnd(killed)).status).toEqual({ kind: 'signalled', signal: 'SIGSEGV' });
    const late = await fixture.jobs.start({ ...fixture.request('echo begun; sleep 100'), timeoutMs: 300 });
    expect(await readToEnd(late)).toEqual({ text: 'begun\n', status: { kind: 'timed-out', afterMs: 300 } });
  });

  it('says what it left running', async () => {
    const { text } = await readToEnd(await start('sleep 100 & echo done'));
    expect(text).toBe('done\n[1 process left running and ended]\n');
  });

  it('says what it wrote that is no text, by size and type', async () => {
    await writeFile(fixture.path('a.png'), Buffer.from('\x89PNG\r\n\x1a\n\0\0\0', 'latin1'));
    const { text } = await readToEnd(await start('cat a.png'));
    expect(text).toBe('[binary output]\n[binary output: 11 bytes, image/png]\n');
  });

  it('shows beginning and end of what was not read in time, and how much is left out', async () => {
    const jobId = await start('seq 1 100000; touch written; until [ -e never ]; do sleep 0.01; done');
    await until(() => existsSync(fixture.path('written')));
    await until(async () => (await keptBytes(jobId)) === 588_895);
    const { head, omittedBytes, tail } = await read(jobId);
    expect(head).toMatch(/^1\n2\n3\n/);
    expect(tail).toMatch(/\n99999\n100000\n$/);
    expect(head.length + tail.length).toBeLessThan(50 * 1024);
    expect(head.length + omittedBytes + tail.length).toBe(588_895);
  });

  it('has a bound to what is kept of a flood, and says how much is not', async () => {
    const small = fixture.open({ limits: { keptBytes: 200_000 } }).ofSession(fixture.uid);
    const jobId = await small.start(fixture.request('seq 1 100000'));
    await until(() => existsSync(join(fixture.folder, fixture.uid, jobId, 'ended.json')));
    expect(await keptBytes(jobId)).toBeLessThanOrEqual(200_000);
    const output = await fixture.read(small, jobId);
    expect(output.droppedBytes).toBeGreaterThan(0);
    const { droppedBytes, head, omittedBytes, tail } = output;
    expect(droppedBytes + head.length + omittedBytes + tail.length).toBe(588_895);
    expect(tail).toMatch(/\n99999\n100000\n$/);
  });

  it('shows how an output ends of which only the last part is kept', async () => {
    const jobId = await start('seq 1 2000000; echo the end');
    await until(() => existsSync(join(fixture.folder, fixture.uid, jobId, 'ended.json')));
    const { text } = await readToEnd(jobId);
    expect(text).not.toMatch(/^1\n/);
    expect(text).toMatch(/\n1999999\n2000000\nthe end\n$/);
  });

  it('is not waited for any longer when the read is aborted', async () => {
    const jobId = await start(waitFor('never'));
    const controller = new AbortController();
    const request = { jobId, waitMs: 60_000, idempotencyKey: fixture.nextKey() };
    const reading = fixture.jobs.output({ ...request, signal: controller.signal });
    controller.abort(new Error('the turn was cancelled'));
    await expect(reading).rejects.toThrow('the turn was cancelled');
  });
});

describe('the start of a job', () => {
  it('that is repeated with the same key starts nothing, at once, later, or from another process', async () => {
    const request = fixture.request(`echo started >> starts; ${waitFor('end')}`);
    const [first, second] = await Promise.all([fixture.jobs.start(request), fixture.jobs.start(request)]);
    const ids = [first, second, await fixture.jobs.start(request)];
    ids.push(await fixture.open().ofSession(fixture.uid).start(request));
    await fixture.give('end');
    await readToEnd(first);
    ids.push(await fixture.jobs.start(request));
    expect(new Set(ids).size).toBe(1);
    expect(await readFile(fixture.path('starts'), 'utf8')).toBe('started\n');
  });

  it('that fails says why and leaves nothing behind', async () => {
    const request = { ...fixture.request('true'), workdir: '../..' };
    await expect(fixture.jobs.start(request)).rejects.toMatchObject({ code: 'OUTSIDE_WORKSPACE' });
    await expect(read('job-1.1.1')).rejects.toThrow('This session has none');
  });

  it('that turns out late to have failed is told when the job is read', async () => {
    let fail!: (error: Error) => void;
    const runCommand = () => new Promise<never>((_resolve, reject) => (fail = reject));
    const jobs = fixture.open({ execution: { runCommand } }).ofSession(fixture.uid);
    const jobId = await jobs.start(fixture.request('true'));
    expect((await fixture.read(jobs, jobId)).status).toEqual({ kind: 'running' });
    fail(new ToolError('TOOL_ERROR', 'There is no bash.'));
    const { status } = await fixture.read(jobs, jobId, { waitMs: 10_000 });
    expect(status).toEqual({ kind: 'failed', message: 'There is no bash.' });
  });

  it('is refused where as many run as may, until one of them ends', async () => {
    const limited = fixture.open({ limits: { running: 2 } }).ofSession(fixture.uid);
    const begin = () => limited.start(fixture.request(waitFor('never')));
    const first = await begin();
    await begin();
    await expect(begin()).rejects.toThrow(`2 jobs of this session run already`);
    await limited.kill(first);
    await begin();
  });

  it('drops the oldest job that has ended where more are there than are kept', async () => {
    const limited = fixture.open({ limits: { kept: 2 } }).ofSession(fixture.uid);
    const running = await limited.start(fixture.request(waitFor('never')));
    const ended = await limited.start(fixture.request('true'));
    await until(async () => (await fixture.read(limited, ended)).status.kind === 'exited');
    const last = await limited.start(fixture.request(waitFor('never')));
    await expect(fixture.read(limited, ended)).rejects.toThrow(`${running}, ${last}`);
  });
});

describe('an id that no job has', () => {
  it.each(['job-9.9.9', '../job-1.1.1', '', 'job-..'])(
    'is refused with those that are known: "%s"',
    async (jobId) => {
      const known = await start('true');
      const other = fixture.background.ofSession(fixture.otherUid());
      await expect(read(jobId)).rejects.toThrow(`The jobs of this session: ${known}.`);
      await expect(fixture.jobs.kill(jobId)).rejects.toThrow(known);
      await expect(fixture.read(other, known)).rejects.toThrow('This session has none');
    },
  );
});

describe('a kill', () => {
  const grandchild = `setsid bash -c 'echo $$ > pid; exec sleep 1000' & echo begun; wait`;

  it('ends the job with its grandchildren, those in sessions of their own too', async () => {
    const jobId = await start(grandchild);
    const pid = await fixture.pid('pid');
    expect(isAlive(pid)).toBe(true);
    expect(await fixture.jobs.kill(jobId)).toEqual({ kind: 'killed' });
    expect(isAlive(pid)).toBe(false);
    expect(await read(jobId)).toMatchObject({ head: 'begun\n', status: { kind: 'killed' } });
  });

  it('by another process does the same', async () => {
    const jobId = await start(grandchild);
    const pid = await fixture.pid('pid');
    const elsewhere = fixture.open().ofSession(fixture.uid);
    expect(await elsewhere.kill(jobId)).toEqual({ kind: 'killed' });
    expect(isAlive(pid)).toBe(false);
    expect(await read(jobId)).toMatchObject({ head: 'begun\n', status: { kind: 'killed' } });
  });

  it('leaves a job as it is that has ended', async () => {
    const jobId = await start('exit 3');
    await readToEnd(jobId);
    expect(await fixture.jobs.kill(jobId)).toEqual({ kind: 'exited', exitCode: 3 });
    const killed = await start(waitFor('never'));
    expect(await fixture.jobs.kill(killed)).toEqual({ kind: 'killed' });
    expect(await fixture.jobs.kill(killed)).toEqual({ kind: 'killed' });
  });
});

describe('the end of a session', () => {
  it('ends its jobs and removes what was kept of them, and leaves other sessions alone', async () => {
    const uid = fixture.otherUid();
    const jobs = fixture.background.ofSession(uid);
    await jobs.start({
      ...fixture.request('echo $$ > pid; exec sleep 1000'),
      idempotencyKey: `${uid}/1.1.0`,
    });
    const other = await start(waitFor('never'));
    const pid = await fixture.pid('pid');
    await fixture.background.endSession(uid);
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(fixture.folder, uid))).toBe(false);
    expect((await read(other)).status.kind).toBe('running');
    const late = jobs.start({ ...fixture.request('true'), idempotencyKey: `${uid}/1.1.1` });
    await expect(late).rejects.toThrow('the session is deleted');
    expect(existsSync(join(fixture.folder, uid))).toBe(false);
  });

  it('is made up for by a sweep where nobody got to it', async () => {
    const deleted = fixture.otherUid();
    const request = { ...fixture.request(waitFor('never')), idempotencyKey: `${deleted}/1.1.0` };
    await fixture.background.ofSession(deleted).start(request);
    const kept = await start(waitFor('never'));
    await fixture.background.sweep(async (uid) => uid === fixture.uid);
    expect(existsSync(join(fixture.folder, deleted))).toBe(false);
    expect((await read(kept)).status.kind).toBe('running');
  });

  it('ends a read that waits', async () => {
    const jobId = await start(waitFor('never'));
    // It finds the job ended, or gone already.
    const reading = read(jobId, 60_000).then(
      ({ status }) => status.kind,
      (error: unknown) => String(error),
    );
    await fixture.background.endSession(fixture.uid);
    expect(await reading).toMatch(/^killed$|There is no job/);
  });
});
