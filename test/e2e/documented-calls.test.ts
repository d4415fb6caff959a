import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksWithCalls, callsIn, runBlock, type ShellBlock } from '../support/documented-calls.js';
import { makeHome, type HomeFolder } from '../support/home-folder.js';
import { startServe, type ServeProcess } from '../support/serve-process.js';
import { until } from '../support/until.js';

/** One grey pixel. */
const CHART = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
  'base64',
);

let folder: HomeFolder;
let server: ServeProcess;
let filled: Record<string, string>;

beforeAll(async () => {
  folder = makeHome('http://127.0.0.1:9', { providers: {}, profiles: {} });
  const hello = join(folder.workspace, 'hello');
  mkdirSync(hello);
  writeFileSync(join(hello, 'README.md'), '# Hello\n');
  writeFileSync(join(folder.workspace, 'chart.png'), CHART);
  server = await startServe({ home: folder.home });
  filled = {
    'http://127.0.0.1:8787': server.url,
    '/tmp/hello': hello,
    SHA256: createHash('sha256').update(CHART).digest('hex'),
  };
});
afterAll(async () => {
  await server.end('SIGTERM');
  folder.remove();
});

/** Runs the block, and expects that each of its calls is answered with the status. */
async function expectStatuses(block: ShellBlock, statuses: readonly number[]): Promise<void> {
  const ran = await runBlock(block, { cwd: folder.workspace, filled });
  expect(ran.code, ran.output).toBe(0);
  expect(ran.statuses, `${block.heading}: ${ran.output}`).toEqual(statuses);
  expect(statuses, block.heading).toHaveLength(callsIn(block.script));
}

/** A prompt that waits in the session's queue behind a turn that is busy for as long as it takes. */
async function waitingItem(session: string): Promise<string> {
  await server.client.turn(session, 1, { waitSeconds: 60 });
  const busy = await post(`/v1/sessions/${session}/prompts`, { text: 'wait 100 seconds' });
  await until(async () => {
    const page = await fetch(`${server.url}/v1/sessions/${session}/events?types=tool/started`);
    const { items } = (await page.json()) as { items: { turn: number }[] };
    return items.some(({ turn }) => turn === busy.turn);
  });
  return (await post(`/v1/sessions/${session}/prompts`, { text: 'list files' })).itemId;
}

async function post(path: string, body: object): Promise<{ turn: number; itemId: string }> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()) as { turn: number; itemId: string };
}

describe('the calls that are documented', () => {
  it('begin a first session as the README says', async () => {
    const [first] = blocksWithCalls('README.md').filter(({ heading }) => heading === 'A first session');
    if (first === undefined) throw new Error('The README has no first session.');
    await expectStatuses(first, [201, 202, 200, 200]);
  });

  it('are answered as docs/api.md says, in the order of the page', async () => {
    const statuses: Readonly<Record<string, readonly number[]>> = {
      Sessions: [201],
      Prompts: [202, 202],
      'The queue': [200, 200, 204],
      // The demo model takes no images.
      Uploads: [201, 400],
      Turns: [200],
      Jobs: [200],
      // The turn that the queue waited for.
      Cancel: [202],
      'The log': [200, 200],
    };
    const blocks = blocksWithCalls('docs/api.md');
    expect(blocks.map(({ heading }) => heading)).toEqual(Object.keys(statuses));
    for (const block of blocks) {
      if (block.script.includes('ITEM')) filled.ITEM = await waitingItem('docs');
      await expectStatuses(block, statuses[block.heading] ?? []);
    }
  });
});
