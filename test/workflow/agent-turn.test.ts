import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, it } from 'vitest';
import type { EventData, EventType, SessionEvent } from '../../src/contract/events.js';
import { ScriptedModelServer, type Script } from '../support/scripted-model-server.js';
import { startTurnRuntime, type TurnRuntime, type TurnRuntimeOptions } from '../support/turn-runtime.js';

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.stop();
});

async function start(
  script: Script,
  options: Partial<TurnRuntimeOptions> = {},
): Promise<{ model: ScriptedModelServer; runtime: TurnRuntime }> {
  const model = await ScriptedModelServer.start({ script });
  open.push({ stop: () => model.close() });
  const runtime = await startTurnRuntime({
    temporalAddress: inject('temporalAddress'),
    modelUrl: model.url,
    ...options,
  });
  open.push(runtime);
  return { model, runtime };
}

const types = (events: readonly SessionEvent[]) => events.map(({ type }) => type);
function dataOf<T extends EventType>(events: readonly SessionEvent[], type: T): EventData<T>[] {
  return events.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []));
}

describe('the steps of a turn', () => {
  it('follow the order of the catalogue, from the prompt to the end', async () => {
    const { model, runtime } = await start([
      { text: 'I look.', calls: [{ name: 'read', arguments: { file_path: 'README.md' } }] },
      { text: 'A sample.' },
    ]);
    writeFileSync(join(runtime.workspace, 'README.md'), '# Sample\n');
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'What is this?');
    const turn = await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    expect(types(events)).toEqual([
      'session/created',
      'agent/inbox/spliced',
      'turn/start',
      'agent/inbox/spliced',
      'step/start',
      'system/message',
      'user/message',
      'user/message',
      'request/header',
      'request/context',
      'assistant/message',
      'tool/call',
      'tool/result',
      'step/end',
      'step/start',
      'assistant/message',
      'step/end',
      'turn/end',
    ]);
    expect(turn).toMatchObject({ reason: { kind: 'completed' }, output: 'A sample.', steps: 2 });
    expect(turn.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    expect(model.refusals).toEqual([]);
  });

  it('commit the results of parallel calls in the order of the model, whichever ends first', async () => {
    const { runtime } = await start([
      {
        calls: [
          { name: 'grep', arguments: { pattern: 'alpha' } },
          { name: 'read', arguments: { file_path: 'a.txt' } },
          { name: 'bash', arguments: { command: 'echo barrier' } },
          { name: 'read', arguments: { file_path: 'missing.txt' } },
        ],
      },
      { text: 'done' },
    ]);
    writeFileSync(join(runtime.workspace, 'a.txt'), 'alpha\n');
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    const called = dataOf(events, 'tool/call');
    expect(called.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(called.map(({ mode }) => mode)).toEqual(['parallel', 'parallel', 'exclusive', 'parallel']);
    const results = dataOf(events, 'tool/result');
    expect(results.map(({ callId }) => callId)).toEqual(called.map(({ callId }) => callId));
    expect(results.map(({ error }) => error?.code)).toEqual([
      undefined,
      undefined,
      undefined,
      'FS_NOT_FOUND',
    ]);
  });

  it('go on after an unknown tool and after arguments that are no JSON', async () => {
    const { model, runtime } = await start([
      { calls: [{ name: 'teleport', arguments: {} }] },
      { calls: [{ name: 'read', arguments: '{"file_path": ' }] },
      { text: 'I give up.' },
    ]);
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    const results = dataOf(await runtime.events(uid), 'tool/result');
    expect(results.map(({ error }) => error?.code)).toEqual(['UNKNOWN_TOOL', 'INVALID_ARGS']);
    expect(turn.reason).toEqual({ kind: 'completed' });
    expect(model.refusals).toEqual([]);
  });

  it('end with max-tokens, without the calls that were cut', async () => {
    const { runtime } = await start([
      { text: 'half', calls: [{ name: 'bash', arguments: '{"command": "rm -' }], finish: 'length' },
    ]);
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    expect(turn.reason).toEqual({ kind: 'max-tokens' });
    expect(dataOf(events, 'assistant/message')[0]?.content).toEqual([{ type: 'text', text: 'half' }]);
    expect(types(events)).not.toContain('tool/call');
  });

  it('stop at the limit of steps', async () => {
    const { model, runtime } = await start(
      () => ({ calls: [{ name: 'glob', arguments: { pattern: '*' } }] }),
      { profile: { limits: { steps: 3, wallTimeMs: null, tokens: null, costUsd: null } } },
    );
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toEqual({ kind: 'limit', which: 'steps', value: 3 });
    expect(model.requests).toHaveLength(3);
  });

  it('stop at the limit of time, with the model call closed', async () => {
    const { model, runtime } = await start(() => ({ connection: 'silence' }), {
      policy: { wallTimeMs: 500 },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toMatchObject({ kind: 'limit', which: 'time' });
    expect((await (await model.request(1)).closed).early).toBe(true);
  });
});

describe('a model call that fails', () => {
  it('is tried again, with its shown text withdrawn, and counts for its usage', async () => {
    const { model, runtime } = await start([
      { text: 'Hello wo', accident: { afterEvents: 2, what: 'cut' } },
      { text: 'Hello world' },
    ]);
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    expect(turn.output).toBe('Hello world');
    expect(model.requests).toHaveLength(2);
    expect(dataOf(events, 'assistant/attempt')).toMatchObject([
      { attempt: 1, outcome: 'failed', failure: { code: 'STREAM_CLOSED' } },
    ]);
    expect(dataOf(events, 'llm/retry')).toMatchObject([
      { attempt: 1, code: 'STREAM_CLOSED', from: 'backoff' },
    ]);
    expect(dataOf(events, 'assistant/message')[0]?.attempt).toBe(2);
    expect(model.requests[1]?.raw).toBe(model.requests[0]?.raw);
  });

  it('ends the turn after exactly the configured attempts', async () => {
    const { model, runtime } = await start(() => ({ status: 503, headers: { 'retry-after-ms': '10' } }), {
      attempts: 3,
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toMatchObject({ kind: 'error', code: 'SERVER', status: 503 });
    expect(model.requests).toHaveLength(3);
  });

  it('is not tried again where that cannot help', async () => {
    const { model, runtime } = await start(() => ({ status: 401 }));
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toMatchObject({ kind: 'error', code: 'AUTH', status: 401 });
    expect(model.requests).toHaveLength(1);
    expect(types(await runtime.events(uid))).not.toContain('llm/retry');
  });
});

describe('the inbox of a running turn', () => {
  it('gives a steer to the next step, and queued prompts a turn each', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { model, runtime } = await start(async ({ number }) => {
      if (number === 1) await held;
      return number === 1
        ? { calls: [{ name: 'glob', arguments: { pattern: '*' } }] }
        : { text: `answer ${String(number)}` };
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'first');
    await model.request(1);
    await runtime.prompt(uid, 'second');
    await runtime.admit(uid, 'steering', 'steer');
    release();
    const first = await runtime.ended(uid, 1);
    const second = await runtime.ended(uid, 2);
    expect([first.output, second.output]).toEqual(['answer 2', 'answer 3']);
    expect(model.requests[1]?.raw).toContain('steering');
    expect(model.requests[1]?.raw).not.toContain('second');
    expect(model.refusals).toEqual([]);
    expect(second.requestIds).toHaveLength(1);
  });
});

describe('a turn whose run was lost', () => {
  it('goes on in a fresh run from where the log stands, and runs nothing twice', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { model, runtime } = await start(async ({ number }) => {
      if (number === 2) await held;
      return number === 1
        ? { calls: [{ name: 'bash', arguments: { command: 'echo once >> effects.txt' } }] }
        : { text: 'done' };
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await model.request(2);
    await runtime.client.workflow
      .getHandle(`${runtime.deployment}/turn/${uid}/1`)
      .terminate('by an operator');
    await runtime.engine.startTurn(uid, 1);
    await model.request(3);
    release();
    const turn = await runtime.ended(uid, 1);
    const events = await runtime.events(uid);
    expect(turn.reason).toEqual({ kind: 'completed' });
    expect(dataOf(events, 'tool/started')).toHaveLength(1);
    expect(dataOf(events, 'assistant/message')).toHaveLength(2);
    expect(dataOf(events, 'assistant/attempt')).toMatchObject([{ attempt: 1, outcome: 'lost' }]);
  });
});
