import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { exportSession } from '../../src/cli/commands/export.js';
import type { CliIo } from '../../src/cli/cli-io.js';
import type { Client } from '../../src/client/client.js';
import type { SessionEvent } from '../../src/contract/events.js';
import type { Sha256 } from '../../src/contract/ids.js';
import { NoSuchRequestError, rebuildRequest } from '../../src/runtime/rebuild-request.js';
import type { RecordedRequest, Reply } from '../support/scripted-model-server.js';
import { turnSetup } from '../support/turn-setup.js';

const { start, startWithApi } = turnSetup();

const WIRES = ['chat-completions', 'messages'] as const;
/** Larger than what an event holds itself. */
const LARGE = 'märchen '.repeat(12_000);

/** Two turns: parallel calls, a large prompt and a large result, reasoning, arguments that were cut, a failed attempt. */
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
  { calls: [{ name: 'read', arguments: '{"file_path": ' }] },
  { text: 'Done 🧭.' },
  { calls: [{ id: '', name: 'write', arguments: { file_path: 'a.txt', content: LARGE } }] },
  { text: 'Written.' },
];
/** The steps that the script's answers belong to. */
const PLACES = ['1/1', '1/2', '1/2', '1/3', '2/1', '2/2'];

const DEEPSEEK = (wire: 'chat-completions' | 'messages') => ({
  providers: {
    'my-deepseek': {
      wire,
      models: {
        'thinking-model': { abilities: { reasoning: true } },
        'blind-model': { abilities: { tools: false } },
      },
    },
  },
  profile: {
    provider: 'my-deepseek',
    model: 'thinking-model',
    parameters: { temperature: 0.25, stop: ['END'], maxTokens: 1000 },
  },
  server: { thinking: true },
});

describe.each(WIRES)('the requests of a session over %s', (wire) => {
  async function played(restartAfterFirstTurn = false) {
    const setup = await start(SCRIPT, DEEPSEEK(wire));
    const { model, runtime } = setup;
    writeFileSync(join(runtime.workspace, 'large.txt'), `${'a line of the file\n'.repeat(1900)}end\n`);
    const uid = await runtime.createSession();
    await runtime.prompt(uid, LARGE);
    expect((await runtime.ended(uid, 1)).output).toBe('Done 🧭.');
    if (restartAfterFirstTurn) await runtime.restart();
    await runtime.prompt(uid, 'Write it down.');
    expect((await runtime.ended(uid, 2)).output).toBe('Written.');
    expect(model.refusals).toEqual([]);
    expect(model.requests).toHaveLength(SCRIPT.length);
    return { ...setup, uid };
  }

  it('are made again from the log and its blobs, byte for byte', async () => {
    const { model, runtime, uid } = await played();
    const events = await runtime.events(uid);
    // Nothing but the stored log: the JSON of the events, and blobs by their digest.
    const log = JSON.parse(JSON.stringify(events)) as SessionEvent[];
    const readBlob = async (sha256: Sha256) => (await runtime.store.readBlob(uid, sha256))!.bytes;
    for (const [index, place] of PLACES.entries()) {
      const [turn, step] = place.split('/').map(Number);
      const body = await rebuildRequest(log, { turn: turn!, step: step! }, readBlob);
      expect(body === model.requests[index]?.raw, place).toBe(true);
    }
    await expect(rebuildRequest(log, { turn: 2, step: 3 }, readBlob)).rejects.toBeInstanceOf(
      NoSuchRequestError,
    );
  });

  it('begin with the bytes of the one before, with the same system and tools, also after a restart', async () => {
    const { model } = await played(true);
    const requests = model.requests.map(({ raw }) => raw);
    expect(requests[2]).toBe(requests[1]);
    const places = [0, 1, 3, 4, 5];
    for (const [before, after] of places.slice(1).map((place, n) => [places[n]!, place] as const)) {
      const earlier = parts(model.requests[before]!);
      const later = parts(model.requests[after]!);
      expect(later.messages.startsWith(earlier.messages), `${String(before)} in ${String(after)}`).toBe(true);
      expect(later.messages.length).toBeGreaterThan(earlier.messages.length);
      expect([later.head, later.tools]).toEqual([earlier.head, earlier.tools]);
    }
  });

  it('of a cancelled turn, of the one after it and of a step that has not ended can be made again too', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { model, runtime, client } = await startWithApi(
      async ({ number }) => {
        if (number === 1) return { text: 'One two three', accident: { afterEvents: 4, what: 'silence' } };
        await held;
        return { text: 'Done.' };
      },
      { wire },
    );
    const { id } = await client.createSession({});
    const [record] = await runtime.store.listSessions({ tenant: 'default', limit: 1 });
    const shown = runtime.firstFrame(record!.uid);
    await client.prompt(id, { text: 'first' });
    await shown;
    await client.cancel(id);
    await client.turn(id, 1, { waitSeconds: 30 });
    await client.prompt(id, { text: 'second' });
    await model.request(2);
    for (const [index, place] of ['1/1', '2/1'].entries()) {
      expect(await exported(client, id, place)).toBe(model.requests[index]?.raw);
    }
    release();
    await client.turn(id, 2, { waitSeconds: 30 });
    expect(model.refusals).toEqual([]);
  });

  it('are printed by the command line, which asks the server for the log', async () => {
    const { model, runtime, client } = await startWithApi(SCRIPT, DEEPSEEK(wire));
    writeFileSync(join(runtime.workspace, 'large.txt'), `${'a line of the file\n'.repeat(1900)}end\n`);
    const { id } = await client.createSession({ workspace: runtime.workspace });
    await client.prompt(id, { text: LARGE });
    await client.turn(id, 1, { waitSeconds: 30 });
    for (const [index, place] of PLACES.slice(0, 4).entries()) {
      expect((await exported(client, id, place)) === model.requests[index]?.raw, place).toBe(true);
    }
    await expect(exported(client, id, '9/9')).rejects.toThrow('There is no request of turn 9, step 9');
    await expect(exported(client, id, 'last')).rejects.toMatchObject({ name: 'UsageError' });
    const log = (await exported(client, id)).trimEnd().split('\n');
    expect(log.map((line) => JSON.parse(line) as SessionEvent)).toEqual((await client.events(id)).items);
  });
});

it('the request of a turn that ended at a limit before its call is not made up', async () => {
  const { runtime } = await start([{ text: 'Yes.', usage: { input: 100, output: 10 } }], {
    profile: { limits: { steps: null, wallTimeMs: null, tokens: 105, costUsd: null } },
  });
  const uid = await runtime.createSession();
  await runtime.prompt(uid, 'one');
  await runtime.ended(uid, 1);
  await runtime.prompt(uid, 'two');
  expect((await runtime.ended(uid, 2)).reason).toMatchObject({ kind: 'limit' });
  const rebuilt = rebuildRequest(await runtime.events(uid), { turn: 2, step: 1 }, () =>
    Promise.reject(new Error('no blob')),
  );
  await expect(rebuilt).rejects.toThrow('ended before the request was sent');
});

/** The bytes of a body: what stands before the messages, the messages without what closes them, and the tools. */
function parts({ raw, body, wire }: RecordedRequest) {
  const start = raw.indexOf('"messages":[') + '"messages":['.length;
  const messages = JSON.stringify(body['messages']).slice(1, -1);
  expect(raw.slice(start, start + messages.length)).toBe(messages);
  const tools = raw.slice(start + messages.length);
  // On the Messages wire blocks are added to the last message, whose end is no part of the prefix.
  return {
    head: raw.slice(0, start),
    messages: wire === 'messages' ? messages.replace(/\]\}$/, '') : messages,
    tools,
  };
}

async function exported(client: Client, sessionId: string, request?: string): Promise<string> {
  let printed = '';
  const output = {
    isTerminal: false,
    write: (text: string) => {
      printed += text;
      return Promise.resolve();
    },
  };
  const io: CliIo = {
    stdin: new PassThrough(),
    stdout: output,
    stderr: output,
    env: {},
    cwd: '/',
    onInterrupt: () => () => undefined,
    forceExit: () => undefined,
  };
  expect(await exportSession(sessionId, request === undefined ? {} : { request }, io, client)).toBe(0);
  return printed;
}

it('a definition of a tool that the log has lost is what the tool says', async () => {
  const { model, runtime } = await start([{ text: 'One.' }, { text: 'Two.' }]);
  const uid = await runtime.createSession();
  await runtime.prompt(uid, 'one');
  await runtime.ended(uid, 1);
  const database = new Database(runtime.databasePath);
  expect(database.prepare('delete from blobs').run().changes).toBeGreaterThan(0);
  database.close();
  await runtime.prompt(uid, 'two');
  expect((await runtime.ended(uid, 2)).output).toBe('Two.');
  const [first, second] = model.requests;
  expect(first?.body.tools).not.toEqual([]);
  expect(second?.body.tools).toEqual(first?.body.tools);
});
