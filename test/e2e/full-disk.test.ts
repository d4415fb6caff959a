/** A server whose disk is full, down to the file of its own log; its engine has another disk. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { fillDisk, freeDisk, hasPrlimit } from '../support/full-disk.js';
import {
  askedApproval,
  commandModel,
  decideByHttp,
  install,
  outputsOf,
  until,
} from '../support/installation.js';
import { checkLog } from '../support/log-invariants.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const STREAM = 'One two three four five six seven eight nine ten';

it.skipIf(!hasPrlimit())(
  'a server whose disk is full says 503 to whatever it would have to store, and goes on when there is room',
  async () => {
    const rules = [{ tool: 'bash', decision: 'ask' }];
    const installation = await install({
      script: (request) =>
        request.raw.includes('do: stream')
          ? { text: STREAM, pieces: 10, delayMs: 100 }
          : commandModel(request),
      profiles: {
        asking: { provider: 'scripted', model: 'scripted-model', permission: 'full-access', rules },
      },
    });
    ends.push(() => installation.remove());
    const logFile = join(installation.home, '..', 'server.log');
    const { client, pid } = await installation.serve({ logFile });
    const asking = await installation.prompt('$ echo asked >> effects.log', 'asking');
    const approvalId = await askedApproval(installation, asking);
    const running = await installation.prompt(
      '$ echo begun >> effects.log; sleep 2; echo ended >> effects.log',
    );
    await client.prompt(running, { text: 'queued' });
    const stream = await installation.prompt('do: stream');
    await until(() => installation.file('effects.log').includes('begun'));
    await until(async () =>
      (await installation.events(stream)).some(({ type }) => type === 'request/header'),
    );

    fillDisk(pid);
    ends.push(() => {
      freeDisk(pid);
    });
    const answers = new Set<string>();
    const post = async (path: string, body: object) => {
      const response = await fetch(`${installation.url}/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { code } = (await response.json()) as { code?: string };
      answers.add(`${String(response.status)} ${code ?? ''}`);
    };
    await until(async () => {
      await post(`sessions/${running}/prompts`, { mode: 'queue', text: 'lost' });
      await post('sessions', {});
      await post('turns', { prompt: 'lost' });
      await post(`sessions/${stream}/cancel`, {});
      await post(`approvals/${approvalId}`, { outcome: 'allow' });
      return installation.file('effects.log').includes('ended');
    });
    expect([...answers]).toEqual(['503 STORE_UNAVAILABLE']);
    await until(async () => (await fetch(`${installation.url}/readyz`)).status === 503);
    expect((await client.session(stream)).status).toBe('running');

    freeDisk(pid);
    expect((await decideByHttp(installation.url, approvalId, 'allow')).status).toBe(200);
    const outputs = [];
    for (const [id, turns] of [
      [asking, 1],
      [running, 2],
      [stream, 1],
    ] as const) {
      outputs.push(...(await outputsOf(installation, id, turns)));
      const events = await installation.events(id);
      expect(checkLog(events)).toEqual([]);
      expect(events.filter((event) => event.type === 'tool/result' && event.data.isError)).toEqual([]);
      expect(events.filter(({ type }) => type === 'assistant/attempt')).toEqual([]);
    }
    expect(outputs).toEqual(['Done.', 'Done.', 'Done.', STREAM]);
    expect(installation.file('effects.log').trim().split('\n').sort()).toEqual(['asked', 'begun', 'ended']);
    expect(JSON.stringify(await installation.events(running))).not.toContain('lost');
    await until(async () => (await fetch(`${installation.url}/readyz`)).status === 200);
    await client.prompt(running, { text: 'once more' });
    expect(await outputsOf(installation, running, 3)).toEqual(['Done.', 'Done.', 'Done.']);
    await until(() => readFileSync(logFile, 'utf8').includes('STORE_UNAVAILABLE'));
  },
);
