import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.js';
import type { SessionEvent } from '../../src/contract/events.js';
import { rebuildRequest } from '../../src/runtime/rebuild-request.js';
import type { Reply } from '../support/scripted-model-server.js';
import { turnSetup } from '../support/turn-setup.js';

const { startWithApi } = turnSetup();

/** Larger than what an event holds itself. */
const LARGE = 'märchen '.repeat(12_000);

/** Parallel calls, a large prompt and result, reasoning, a failed attempt, and a lone surrogate that UTF-8 cannot spell. */
const SCRIPT: readonly Reply[] = [
  {
    reasoning: 'I look first.',
    signature: 'proof==',
    text: 'Looking.',
    calls: [
      { name: 'read', arguments: { file_path: 'large.txt' } },
      { name: 'glob', arguments: { pattern: '*' } },
    ],
  },
  { text: 'lost', accident: { afterEvents: 2, what: 'cut' } },
  { text: 'Done 🧭.' },
  { calls: [{ name: 'write', arguments: { file_path: 'a.txt', content: `${LARGE}\ud83d` } }] },
  { text: 'Written.' },
  { text: 'Still here.' },
];
const PLACES = ['1/1', '1/2', '1/2', '2/1', '2/2', '3/1'];

async function events(client: Client, id: string): Promise<readonly SessionEvent[]> {
  return (await client.events(id, { limit: 1000 })).items;
}

describe.each(['chat-completions', 'messages'] as const)('a session that was imported, over %s', (wire) => {
  it('has every request that was sent, byte for byte, and goes on where the original ended', async () => {
    const { model, runtime, client } = await startWithApi(SCRIPT, { wire });
    writeFileSync(join(runtime.workspace, 'large.txt'), `${'a line of the file\n'.repeat(1900)}end\n`);
    const { id } = await client.createSession({ workspace: runtime.workspace });
    await client.prompt(id, { text: LARGE });
    await client.turn(id, 1, { waitSeconds: 30 });
    await client.prompt(id, { text: 'Write it down.', requestId: 'second' });
    await client.turn(id, 2, { waitSeconds: 30 });
    const original = await events(client, id);

    const copy = await client.importSession(await client.exportSession(id), {
      id: 'copy',
      workspace: runtime.workspace,
    });
    expect(copy).toMatchObject({ id: 'copy', status: 'idle', usage: (await client.session(id)).usage });
    await client.deleteSession(id);
    expect(await client.messages('copy', { limit: 100 })).toMatchObject({ nextCursor: null });
    const repeated = await client.prompt('copy', { text: 'Write it down.', requestId: 'second' });
    expect(repeated).toMatchObject({ duplicate: true, turn: 2 });

    await client.prompt('copy', { text: 'Are you there?' });
    expect(await client.turn('copy', 3, { waitSeconds: 30 })).toMatchObject({ output: 'Still here.' });
    const log = await events(client, 'copy');
    const facts = (some: readonly SessionEvent[]) =>
      JSON.stringify(some.map((event) => ({ ...event, sessionId: '' })));
    expect(facts(log.slice(0, original.length))).toBe(facts(original));
    for (const [index, place] of PLACES.entries()) {
      const [turn = 0, step = 0] = place.split('/').map(Number);
      const body = await rebuildRequest(log, { turn, step }, (sha256) => client.blob('copy', sha256));
      expect(body === model.requests[index]?.raw, place).toBe(true);
    }
    // The conversation before is the same to the byte, so that the provider's cache still knows it.
    const [before, after] = [model.requests[4]!.raw, model.requests[5]!.raw];
    const messages = JSON.stringify((JSON.parse(before) as { messages: unknown[] }).messages).slice(0, -3);
    expect(after).toContain(messages);
    expect(model.refusals).toEqual([]);
  });
});
