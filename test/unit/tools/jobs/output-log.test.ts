import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOutputLog, keptOutput, readOutput } from '../../../../src/tools/jobs/output-log.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeeper-output-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const all = () => readOutput(folder, 0, keptOutput(folder).end).toString('utf8');

describe('the output log of a job', () => {
  it('is empty before anything is written', () => {
    expect(keptOutput(folder)).toEqual({ start: 0, end: 0 });
    expect(all()).toBe('');
  });

  it('keeps the last half to all of its bound, and the positions count from the first byte', () => {
    const log = createOutputLog(folder, 100);
    let written = '';
    for (let index = 0; index < 200; index += 1) {
      const text = `${String(index)} €\n`;
      log.append(text);
      written += text;
      const { start, end } = keptOutput(folder);
      expect(end).toBe(Buffer.byteLength(written));
      expect(end - start).toBeGreaterThanOrEqual(Math.min(end, 43));
      expect(end - start).toBeLessThanOrEqual(100);
      expect(readOutput(folder, start, end).equals(Buffer.from(written).subarray(start))).toBe(true);
    }
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it('gives any range across its segments, and of what is not kept nothing', () => {
    const log = createOutputLog(folder, 20);
    for (const letter of 'abcdef') log.append(letter.repeat(10));
    expect(keptOutput(folder)).toEqual({ start: 40, end: 60 });
    expect(readOutput(folder, 45, 55).toString()).toBe('eeeeefffff');
    expect(readOutput(folder, 0, 42).toString()).toBe('ee');
    expect(readOutput(folder, 0, 30).toString()).toBe('');
  });

  it('takes a text that is larger than its bound', () => {
    const log = createOutputLog(folder, 10);
    log.append('x'.repeat(50));
    log.append('y');
    expect(all()).toBe(`${'x'.repeat(50)}y`);
  });

  it('puts notes on lines of their own', () => {
    const log = createOutputLog(folder, 1000);
    log.note('[one]');
    log.append('text');
    log.note('[two]');
    log.append('text\n');
    log.note('[three]');
    expect(all()).toBe('[one]\ntext\n[two]\ntext\n[three]\n');
  });

  it('goes on where something could not be written, and says how much is missing', () => {
    const log = createOutputLog(folder, 1000);
    log.append('before');
    rmSync(folder, { recursive: true });
    log.append('lost');
    log.append(' too');
    mkdirSync(folder);
    log.append('after');
    expect(all()).toBe('\n[8 bytes could not be written down]\nafter');
  });
});
