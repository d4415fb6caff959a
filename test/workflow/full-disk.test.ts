/** A disk that is full for the process of store and workers, and so for this one; the engine has another. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { fillDisk, freeDisk, hasPrlimit } from '../support/full-disk.js';
import { until } from '../support/installation.js';
import { checkLog } from '../support/log-invariants.js';
import type { Script } from '../support/scripted-model-server.js';
import { dataOf, turnSetup } from '../support/turn-setup.js';

const { start } = turnSetup();
afterEach(() => {
  freeDisk(process.pid);
});

async function setup(script: Script) {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
  const { model, runtime } = await start(script, { logger });
  const uid = await runtime.createSession();
  return {
    model,
    runtime,
    uid,
    /** Resolves when what was done could not be stored. */
    isWaiting: () => until(() => lines.some((line) => line.includes('what an attempt has done waits'))),
    fileText: () => readFileSync(join(runtime.workspace, 'effects.txt'), { encoding: 'utf8', flag: 'a+' }),
  };
}

describe.skipIf(!hasPrlimit())('while the disk is full', () => {
  it('an answer that ends is kept, and the model is not asked again', async () => {
    const text = 'One two three four five six';
    const { model, runtime, uid, isWaiting } = await setup([
      { text, pieces: 6, delayMs: 50 },
      { text: 'Asked again.' },
    ]);
    const shown = runtime.firstFrame(uid);
    await runtime.prompt(uid, 'go');
    await shown;
    fillDisk(process.pid);
    await isWaiting();
    freeDisk(process.pid);
    expect((await runtime.ended(uid, 1)).output).toBe(text);
    expect(model.requests).toHaveLength(1);
    const events = await runtime.events(uid);
    expect(dataOf(events, 'assistant/attempt')).toEqual([]);
    expect(checkLog(events)).toEqual([]);
  });

  it('a command that ends has its result, and is not run again', async () => {
    const command = 'echo begun >> effects.txt; sleep 0.3; echo ended >> effects.txt; echo output';
    const { runtime, uid, isWaiting, fileText } = await setup([
      { calls: [{ name: 'bash', arguments: { command } }] },
      { text: 'Done.' },
    ]);
    await runtime.prompt(uid, 'go');
    await until(() => fileText().includes('begun'));
    fillDisk(process.pid);
    await isWaiting();
    freeDisk(process.pid);
    expect((await runtime.ended(uid, 1)).output).toBe('Done.');
    expect(fileText()).toBe('begun\nended\n');
    const events = await runtime.events(uid);
    const [result] = dataOf(events, 'tool/result');
    expect(JSON.stringify(result?.content)).toContain('output');
    expect(result?.isError).toBe(false);
    expect(checkLog(events)).toEqual([]);
  });
});
