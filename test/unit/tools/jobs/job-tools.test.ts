import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionJobs } from '../../../../src/tools/jobs/session-jobs.js';
import { MAX_RESULT_BYTES } from '../../../../src/tools/result-bounds.js';
import { createToolFixture, textOf, type ToolFixture, until } from '../tool-fixture.js';
import { createJobsFixture, type JobsFixture, waitFor } from './jobs-fixture.js';

let tools: ToolFixture;
let fixture: JobsFixture;
beforeEach(async () => {
  tools = await createToolFixture();
  fixture = await createJobsFixture();
});
afterEach(async () => {
  await fixture.remove();
  await tools.remove();
});

async function run(name: string, args: object, jobs: SessionJobs = fixture.jobs) {
  const { workspace } = fixture;
  return tools.run(name, args, { jobs, workspace, idempotencyKey: fixture.nextKey() });
}
const text = async (name: string, args: object) => textOf(await run(name, args));

/** Starts a command by `bash`, as a model does, and gives the id that the result names. */
async function start(command: string): Promise<string> {
  const result = await text('bash', { command, run_in_background: true });
  return /\bjob-[\d.]+\d/.exec(result)![0];
}

/** Waits for the end without a read. */
const ended = (jobId: string) =>
  until(() => existsSync(join(fixture.folder, fixture.uid, jobId, 'ended.json')));

describe('a command that bash starts in the background', () => {
  it('is read by job_output and ended by job_kill, by the id that bash gave', async () => {
    const job_id = await start(`echo begun; ${waitFor('never')}`);
    expect(await text('job_output', { job_id, wait_ms: 10_000 })).toBe('begun\n[running]');
    expect(await text('job_output', { job_id })).toBe('[no new output]\n[running]');
    expect(await text('job_kill', { job_id })).toBe(`${job_id} is ended.\n[killed]`);
    expect(await text('job_output', { job_id })).toBe('[no new output]\n[killed]');
  });

  it('shows its exit code as the last line', async () => {
    const job_id = await start('echo one; echo two >&2; exit 4');
    await ended(job_id);
    expect(await text('job_kill', { job_id })).toBe(`${job_id} had ended already.\n[exit code: 4]`);
    expect(await text('job_output', { job_id })).toMatch(/^(one\ntwo|two\none)\n\[exit code: 4\]$/);
  });

  it('is lost where its server stops', async () => {
    const job_id = await start(waitFor('never'));
    await fixture.background.stop();
    expect(await text('job_output', { job_id })).toMatch(/\n\[lost: the server that ran it has stopped.*\]$/);
  });

  it('does not start where bash could not run it either', async () => {
    const outcome = await run('bash', { command: 'true', workdir: '../..', run_in_background: true });
    expect(outcome.error?.code).toBe('OUTSIDE_WORKSPACE');
  });
});

describe('much output of a job', () => {
  it('stays within the size of a result, with what is left out said in its place', async () => {
    const job_id = await start('seq 1 100000');
    await ended(job_id);
    const result = await text('job_output', { job_id });
    expect(Buffer.byteLength(result)).toBeLessThanOrEqual(MAX_RESULT_BYTES);
    expect(result).toMatch(
      /^1\n2\n3\n[\d\n]+\n\[539743 bytes left out\]\n[\d\n]+\n100000\n\[exit code: 0\]$/,
    );
    expect(tools.blobs.size).toBe(0);
  });
});

describe('an unknown job', () => {
  it.each(['job_output', 'job_kill'])('is an error of %s that names the jobs there are', async (name) => {
    const job_id = await start('true');
    const outcome = await run(name, { job_id: 'job-9' });
    expect(outcome.error?.code).toBe('TOOL_ERROR');
    expect(textOf(outcome)).toContain(`There is no job "job-9". The jobs of this session: ${job_id}.`);
  });
});

describe('the arguments of job_output', () => {
  it('do not let it wait for more than a minute', async () => {
    const outcome = await run('job_output', { job_id: 'job-1', wait_ms: 60_001 });
    expect(outcome.error?.code).toBe('INVALID_ARGS');
  });
});
