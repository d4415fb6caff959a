import { closeSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEngineLog } from '../../../../src/runtime/engine/engine-log.js';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeeper-log-'));
  file = join(folder, 'engine.log');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('the log of the engine', () => {
  it('shows the last lines of this start only', () => {
    writeFileSync(file, 'of an earlier start\n');
    const log = openEngineLog(file);
    expect(log.tail()).toBe('');
    const lines = Array.from({ length: 40 }, (_, index) => `line ${String(index)}`);
    writeSync(log.descriptor, `${lines.join('\n')}\n`);
    expect(log.tail().split('\n')).toEqual(lines.slice(-15));
    closeSync(log.descriptor);
  });

  it('sets a large log aside', () => {
    writeFileSync(file, Buffer.alloc(1024 * 1024 + 1));
    closeSync(openEngineLog(file).descriptor);
    expect(statSync(file).size).toBe(0);
    expect(existsSync(`${file}.1`)).toBe(true);
  });
});
