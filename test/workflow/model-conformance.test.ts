import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.js';
import type { FollowOptions } from '../../src/client/follow.js';
import { createTranscript, foldTranscript, type Transcript } from '../../src/client/render.js';
import { eventKeys } from '../../src/contract/event-keys.js';
import type { SessionUid } from '../../src/contract/ids.js';
import type { Reply } from '../support/scripted-model-server.js';
import { dataOf, turnSetup, untilEvent } from '../support/turn-setup.js';
import type { TurnRuntime } from '../support/turn-runtime.js';

const { start, startWithApi } = turnSetup();

const WRITTEN = '👩‍👩‍👧 \u0000 "q" \\ \u2028';

const WIRES = ['chat-completions', 'messages'] as const;

/** A provider that thinks, and wants its reasoning back before calls. */
const thinking = (wire: (typeof WIRES)[number]) => ({
  providers: {
    'my-deepseek': { wire, models: { thinker: { abilities: { reasoning: true } } } },
  },
  profile: { provider: 'my-deepseek', model: 'thinker' },
  server: { thinking: true },
});

describe.each(WIRES)('a turn over %s', (wire) => {
  it('goes through three rounds of tools, with reasoning, parallel calls and any script, to its answer', async () => {
    const { model, runtime } = await start(
      [
        {
          reasoning: 'Erst 讀 – dann 🧭.',
          signature: 'proof-1==',
          calls: [
            { name: 'read', arguments: { file_path: 'naïve 漢字.txt' } },
            { name: 'glob', arguments: { pattern: '**/*' } },
            { name: 'read', arguments: { file_path: 'missing.txt' } },
          ],
          interleave: true,
          splitBytes: 1,
        },
        {
          // An answer that says nothing beside its calls, one of which has an id that was used before.
          text: '',
          calls: [
            { id: 'call_1_0', name: 'bash', arguments: { command: 'printf ""' } },
            { id: '', name: 'read', arguments: '' },
          ],
        },
        {
          reasoning: 'Once more.',
          signature: 'proof-3==',
          text: 'I write. ',
          calls: [{ name: 'write', arguments: { file_path: 'b.txt', content: WRITTEN } }],
        },
        { reasoning: 'Done?', signature: 'proof-4==', text: 'Done: naïve 漢字 👩‍👩‍👧.', splitBytes: 1 },
      ],
      thinking(wire),
    );
    writeFileSync(join(runtime.workspace, 'naïve 漢字.txt'), 'größe 漢字 🧭\n');
    mkdirSync(join(runtime.workspace, 'folder'));
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'Gehe 漢字 🧭 \ud800 an.');
    const turn = await runtime.ended(uid, 1);
    expect(model.refusals).toEqual([]);
    expect(turn).toMatchObject({
      reason: { kind: 'completed' },
      output: 'Done: naïve 漢字 👩‍👩‍👧.',
      steps: 4,
    });
    expect(model.requests).toHaveLength(4);

    const events = await runtime.events(uid);
    const messages = dataOf(events, 'assistant/message');
    expect(messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['reasoning', 'tool-call', 'tool-call', 'tool-call'],
      ['tool-call', 'tool-call'],
      ['reasoning', 'text', 'tool-call'],
      ['reasoning', 'text'],
    ]);
    expect(messages[0]?.content[0]).toMatchObject({ text: 'Erst 讀 – dann 🧭.' });
    const called = dataOf(events, 'tool/call').map(({ callId }) => callId);
    expect(new Set(called).size).toBe(6);
    const results = dataOf(events, 'tool/result');
    expect(results.map(({ callId }) => callId)).toEqual(called);
    expect(results.map(({ error }) => error?.code)).toEqual([
      undefined,
      undefined,
      'FS_NOT_FOUND',
      undefined,
      'INVALID_ARGS',
      undefined,
    ]);

    // What was thought before calls goes back with its proof, and text with every character.
    const last = model.requests[3]!.raw;
    for (const part of ['Erst 讀 – dann 🧭.', 'Once more.', 'größe 漢字 🧭']) expect(last).toContain(part);
    expect(readFileSync(join(runtime.workspace, 'b.txt'), 'utf8')).toBe(WRITTEN);
    expect(last.includes('"signature":"proof-1=="')).toBe(wire === 'messages');
    expect(last.includes('"reasoning_content":"Once more."')).toBe(wire === 'chat-completions');
  });

  it.each<[string, readonly Reply[], (runtime: TurnRuntime, uid: SessionUid) => Promise<void>]>([
    [
      'in mid-stream',
      [
        {
          reasoning: 'Well.',
          text: 'One two three',
          pieces: 3,
          accident: { afterEvents: 5, what: 'silence' },
        },
      ],
      (runtime, uid) => runtime.firstFrame(uid),
    ],
    [
      'in its reasoning',
      [{ reasoning: 'One two three', pieces: 3, accident: { afterEvents: 3, what: 'silence' } }],
      (runtime, uid) => runtime.firstFrame(uid),
    ],
    [
      'inside of a call’s arguments',
      [
        {
          text: 'I read.',
          pieces: 1,
          calls: [{ name: 'read', arguments: { file_path: 'a' } }],
          accident: { afterEvents: 4, what: 'silence' },
        },
      ],
      (runtime, uid) => runtime.firstFrame(uid),
    ],
    [
      'while a tool runs',
      [
        {
          calls: [
            { name: 'bash', arguments: { command: 'sleep 100' } },
            { name: 'bash', arguments: { command: 'echo never' } },
          ],
        },
      ],
      (runtime, uid) => untilEvent(runtime, uid, ({ type }) => type === 'tool/started'),
    ],
    [
      'while it waits for another attempt',
      [{ status: 500 }, { status: 500 }, { status: 500 }],
      // The third wait is two seconds long.
      (runtime, uid) =>
        untilEvent(runtime, uid, (event) => event.type === 'llm/retry' && event.data.attempt === 3),
    ],
  ])('that is cancelled %s leaves a history that the provider takes', async (_name, replies, reached) => {
    const script = [...replies, { text: 'And again.' }];
    const { model, runtime } = await start(script, { wire, attempts: 4 });
    const uid = await runtime.createSession();
    const when = reached(runtime, uid);
    await runtime.prompt(uid, 'go');
    await when;
    await runtime.store.transact(uid, async (transaction) => {
      const data = { by: 'tester' };
      await transaction.append([
        { type: 'turn/cancel-requested', key: eventKeys.cancelRequested(1), turn: 1, data },
      ]);
    });
    await runtime.engine.cancelTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).reason).toMatchObject({ kind: 'aborted' });
    const cancelled = dataOf(await runtime.events(uid), 'assistant/message');
    for (const { interrupted, content } of cancelled) {
      if (interrupted === true) expect(content.map(({ type }) => type)).not.toContain('tool-call');
    }
    await runtime.prompt(uid, 'again');
    expect((await runtime.ended(uid, 2)).output).toBe('And again.');
    expect(model.refusals).toEqual([]);
    expect(model.requests).toHaveLength(script.length);
  });

  it('shows each text once, live, to a late follower and in a replay, though two attempts were lost in it', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const lost = { headers: { 'x-request-id': 'lost' } };
    const { model, client } = await startWithApi(
      async ({ number }): Promise<Reply> => {
        if (number === 1) return { text: 'Looking', calls: [{ name: 'glob', arguments: { pattern: '*' } }] };
        if (number === 2) return { ...lost, text: 'Hello wor', accident: { afterEvents: 3, what: 'cut' } };
        if (number === 3) {
          const error = { type: 'overloaded_error', message: 'busy' };
          return { ...lost, text: 'Hello there', pieces: 2, accident: { afterEvents: 3, what: { error } } };
        }
        await held;
        return { text: 'Hello world, once.', pieces: 6 };
      },
      { wire },
    );
    const { id } = await client.createSession({});
    const { cursor } = await client.prompt(id, { text: 'go' });
    const live = read(client, id, {});
    const resumed = read(client, id, { after: cursor });
    await model.request(3);
    const late = read(client, id, {});
    await model.request(4);
    const later = read(client, id, {});
    release();
    await client.turn(id, 1, { waitSeconds: 30 });
    const replay = read(client, id, {});
    const expected = ['Looking', 'Hello world, once.'];
    for (const reader of [live, resumed, late, later, replay]) {
      const { transcript, most } = await reader;
      const answers = transcript.entries.filter((entry) => entry.kind === 'assistant');
      expect(answers.map(({ state }) => state)).toEqual(['settled', 'settled']);
      expect(answers.map(({ blocks }) => blocks.find(({ type }) => type === 'text')?.text)).toEqual(expected);
      // At no moment did a step show more than one attempt.
      expect(most).toBeLessThanOrEqual(2);
    }
    expect(model.requests).toHaveLength(4);
    expect(model.refusals).toEqual([]);
  });
});

/** Follows the session to the turn's end; `most` is the largest number of answers that were shown at once. */
async function read(client: Client, id: string, options: FollowOptions) {
  let transcript: Transcript = createTranscript();
  let most = 0;
  for await (const item of client.follow(id, { ...options, until: 'turn-end', turn: 1 })) {
    transcript = foldTranscript(transcript, item);
    most = Math.max(most, transcript.entries.filter(({ kind }) => kind === 'assistant').length);
  }
  return { transcript, most };
}
