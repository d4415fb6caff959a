import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { eventKeys } from '../../src/contract/event-keys.js';
import type { SessionEvent } from '../../src/contract/events.js';
import type { SessionUid } from '../../src/contract/ids.js';
import { ScriptedModelServer, type Script } from '../support/scripted-model-server.js';
import { startTurnRuntime, type TurnRuntime } from '../support/turn-runtime.js';

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.stop();
});

async function start(script: Script): Promise<{ model: ScriptedModelServer; runtime: TurnRuntime }> {
  const model = await ScriptedModelServer.start({ script });
  open.push({ stop: () => model.close() });
  const runtime = await startTurnRuntime({
    temporalAddress: inject('temporalAddress'),
    modelUrl: model.url,
  });
  open.push(runtime);
  return { model, runtime };
}

async function requestCancel(runtime: TurnRuntime, uid: SessionUid, turn: number): Promise<void> {
  await runtime.store.transact(uid, async (transaction) => {
    await transaction.append([
      { type: 'turn/cancel-requested', key: eventKeys.cancelRequested(turn), turn, data: { by: 'tester' } },
    ]);
  });
}

function untilEvent(
  runtime: TurnRuntime,
  uid: SessionUid,
  found: (event: SessionEvent) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = () => {
      runtime.events(uid).then((events) => {
        if (!events.some(found)) return;
        unwatch();
        resolve();
      }, reject);
    };
    const unwatch = runtime.store.watch(uid, check);
    check();
  });
}

const ABORTED = { kind: 'aborted', cause: 'user', by: 'tester' };

describe('a cancelled turn', () => {
  it('keeps the text that was visible, closes the socket and takes the next prompt', async () => {
    const { model, runtime } = await start([
      { text: 'One two three four', accident: { afterEvents: 2, what: 'silence' } },
      { text: 'And again.' },
    ]);
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await runtime.firstFrame(uid);
    await requestCancel(runtime, uid, 1);
    await runtime.engine.cancelTurn(uid, 1);
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toEqual(ABORTED);
    expect((await (await model.request(1)).closed).early).toBe(true);
    const events = await runtime.events(uid);
    const message = events.find((event) => event.type === 'assistant/message');
    expect(message?.data).toMatchObject({ finish: 'aborted', interrupted: true });
    await runtime.prompt(uid, 'again');
    expect((await runtime.ended(uid, 2)).output).toBe('And again.');
    expect(model.refusals).toEqual([]);
  });

  it('ends at once in a silent prefill, without a message', async () => {
    const { model, runtime } = await start(() => ({ connection: 'silence' }));
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const request = await model.request(1);
    await requestCancel(runtime, uid, 1);
    await runtime.engine.cancelTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    expect((await request.closed).early).toBe(true);
    const events = await runtime.events(uid);
    expect(events.filter(({ type }) => type === 'assistant/message')).toEqual([]);
    expect(events.find(({ type }) => type === 'assistant/attempt')?.data).toMatchObject({
      outcome: 'aborted',
    });
  });

  it('ends at once while it waits for another attempt', async () => {
    const { model, runtime } = await start(() => ({ status: 429, headers: { 'retry-after': '600' } }));
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await untilEvent(runtime, uid, ({ type }) => type === 'llm/retry');
    await requestCancel(runtime, uid, 1);
    await runtime.engine.cancelTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    expect(model.requests).toHaveLength(1);
  });

  it('leaves no process of a running command, and a result for each call', async () => {
    const marker = `4242${String(process.pid)}`;
    const { model, runtime } = await start([
      {
        calls: [
          { name: 'bash', arguments: { command: `setsid sleep ${marker} & sleep ${marker}` } },
          { name: 'bash', arguments: { command: 'echo never' } },
        ],
      },
      { text: 'next' },
    ]);
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await untilEvent(runtime, uid, ({ type }) => type === 'tool/started');
    await requestCancel(runtime, uid, 1);
    await runtime.engine.cancelTurn(uid, 1);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    const running = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(running).not.toContain(`sleep ${marker}`);
    const events = await runtime.events(uid);
    const codes = events.flatMap((event) => (event.type === 'tool/result' ? [event.data.error?.code] : []));
    expect(codes).toEqual(['ABORTED', 'ABORTED_BEFORE_DISPATCH']);
    await runtime.prompt(uid, 'again');
    expect((await runtime.ended(uid, 2)).output).toBe('next');
    expect(model.refusals).toEqual([]);
  });

  it('ends before it has started, and does not run its prompt', async () => {
    const { model, runtime } = await start([{ text: 'never' }]);
    const uid = await runtime.createSession();
    const admitted = await runtime.admit(uid, 'go', 'queue');
    await requestCancel(runtime, uid, 1);
    await runtime.engine.cancelTurn(uid, 1);
    await runtime.engine.startTurn(uid, admitted.turn ?? 0);
    expect((await runtime.ended(uid, 1)).reason).toEqual(ABORTED);
    expect(model.requests).toEqual([]);
    const { inbox, openTurn } = await runtime.store.readState(uid);
    expect(inbox.nextTurn).toEqual([]);
    expect(openTurn).toBeNull();
  });

  it('is settled as the operator’s where only the engine was told', async () => {
    const { model, runtime } = await start(() => ({ connection: 'silence' }));
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await model.request(1);
    await runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`).cancel();
    expect((await runtime.ended(uid, 1)).reason).toEqual({
      kind: 'aborted',
      cause: 'operator',
      by: 'engine',
    });
  });
});
