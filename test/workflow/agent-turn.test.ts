import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTurnRuntime, type TurnRuntime } from '../support/turn-runtime.js';

describe('a turn with the demo provider', () => {
  let runtime: TurnRuntime;
  beforeAll(async () => {
    runtime = await startTurnRuntime({ temporalAddress: inject('temporalAddress') });
    writeFileSync(join(runtime.workspace, 'README.md'), '# Sample\nSecond line\n');
  });
  afterAll(async () => {
    await runtime.stop();
  });

  it('runs its tools in order and ends completed', async () => {
    const uid = await runtime.createSession();
    const turn = await runtime.prompt(uid, 'list files, then read README.md, then run wc -l README.md');
    expect(turn).toBe(1);
    const record = await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    console.log(events.map((e) => `${e.seq} ${e.at} ${e.type} ${JSON.stringify(e.data).slice(0, 150)}`).join('\n'));
    expect(record.reason).toEqual({ kind: 'completed' });
  });
});
