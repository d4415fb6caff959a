import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../tool-fixture.js';
import { createJobsFixture, type JobsFixture, shown, waitFor } from './jobs-fixture.js';

let fixture: JobsFixture;
let jobId: string;
const READY = 'a'.repeat(100);
beforeEach(async () => {
  fixture = await createJobsFixture();
  const command = `printf ${READY}; ${waitFor('go')}; printf more; ${waitFor('never')}`;
  jobId = await fixture.jobs.start(fixture.request(command));
});
afterEach(async () => {
  await fixture.remove();
});

const read = (idempotencyKey: string, waitMs = 10_000, jobs = fixture.jobs) =>
  fixture.read(jobs, jobId, { waitMs, idempotencyKey });
/** What is written to the job's output, as its process would write it. */
const write = (bytes: Uint8Array | string) => {
  appendFileSync(join(fixture.folder, fixture.uid, jobId, 'output-0'), bytes);
};

describe('a call that reads', () => {
  it('gets the same again when it is repeated, whatever came since, and the next call gets the rest', async () => {
    expect(await read('first')).toMatchObject({ head: READY, laterBytes: 0 });
    await fixture.give('go');
    await until(async () => (await read('first')).laterBytes === 4);
    expect(await read('first')).toMatchObject({ head: READY });
    expect(await read('second')).toMatchObject({ head: 'more', laterBytes: 0 });
    expect(await read('first')).toMatchObject({ head: READY, laterBytes: 4 });
    expect(await read('second')).toMatchObject({ head: 'more' });
  });

  it('gets nothing again where it had nothing, so that an attempt that wakes late takes nothing from others', async () => {
    await read('first');
    expect(await read('second', 0)).toMatchObject({ head: '', laterBytes: 0 });
    await fixture.give('go');
    await until(async () => (await read('second', 0)).laterBytes === 4);
    expect(await read('third')).toMatchObject({ head: 'more' });
  });

  it('has what it got after a restart too', async () => {
    await read('first');
    const elsewhere = fixture.open().ofSession(fixture.uid);
    expect(await read('first', 0, elsewhere)).toMatchObject({ head: READY });
    expect(await read('second', 0, elsewhere)).toMatchObject({ head: '' });
    await fixture.give('go');
    expect(await read('third', 10_000, elsewhere)).toMatchObject({ head: 'more' });
    expect(await read('fourth', 0)).toMatchObject({ head: '' });
  });

  it('shares the output with a call beside it: each byte goes to one of them', async () => {
    await fixture.give('go');
    let text = '';
    let round = 0;
    while (text.length < READY.length + 4) {
      round += 1;
      const outputs = await Promise.all(['a', 'b'].map((name) => read(`${name}${String(round)}`, 50)));
      text += outputs.map(shown).join('');
    }
    expect(text).toBe(`${READY}more`);
  });

  it('that was aborted has taken nothing', async () => {
    const request = { jobId, waitMs: 0, idempotencyKey: 'aborted' };
    await expect(fixture.jobs.output({ ...request, signal: AbortSignal.abort() })).rejects.toThrow();
    expect(await read('first')).toMatchObject({ head: READY });
  });

  it('survives a record of reads that was cut off in the middle', async () => {
    await read('first');
    appendFileSync(
      join(fixture.folder, fixture.uid, jobId, 'reads.jsonl'),
      '\n{"call":"second","from":100,"t',
    );
    expect(await read('second', 0)).toMatchObject({ head: '' });
    write('end');
    expect(await read('third')).toMatchObject({ head: 'end' });
    expect(await read('first')).toMatchObject({ head: READY });
  });
});

describe('characters of many bytes', () => {
  it('are whole where a read ends in the middle of one', async () => {
    await read('first');
    const euro = Buffer.from('€');
    write(Buffer.concat([Buffer.from('x'), euro.subarray(0, 2)]));
    expect(await read('second')).toMatchObject({ head: 'x' });
    write(euro.subarray(2));
    expect(await read('third')).toMatchObject({ head: '€' });
  });

  it.each([0, 1, 2, 3])('are whole where beginning and end are cut out, moved by %i bytes', async (bytes) => {
    await read('first');
    write('x'.repeat(bytes) + '𝄞'.repeat(40_000));
    const { head, omittedBytes, tail } = await read('second');
    expect(head + tail).toMatch(/^x*(𝄞)+$/u);
    expect(Buffer.byteLength(head + tail) + omittedBytes).toBe(bytes + 160_000);
  });
});
