/** Structured output: a turn whose last message has to fit a JSON Schema. */
import { describe, expect, it } from 'vitest';
import type { Sha256 } from '../../src/contract/ids.js';
import { rebuildRequest } from '../../src/runtime/rebuild-request.js';
import { checkLog } from '../support/log-invariants.js';
import type { Script } from '../support/scripted-model-server.js';
import { dataOf, turnSetup, type SetupOptions } from '../support/turn-setup.js';

const { startWithApi } = turnSetup();

const SCHEMA = {
  type: 'object',
  properties: { count: { type: 'integer' }, notes: { type: 'string' } },
  required: ['count'],
};

async function job(script: Script, options: SetupOptions = {}) {
  const parts = await startWithApi(script, options);
  const { client, runtime } = parts;
  const turn = await client.runTurn({ prompt: 'Count the files', outputSchema: SCHEMA }, { waitSeconds: 60 });
  const session = await runtime.store.findSession('default', turn.sessionId);
  const events = await runtime.events(session!.uid);
  const told = dataOf(events, 'user/message').filter(({ source }) => source.kind === 'hook');
  return { ...parts, turn, events, told, uid: session!.uid };
}

describe('a turn with an output schema', () => {
  it('tells the model of it in the log, and ends with the value', async () => {
    const { turn, events, told, model } = await job([{ text: '{"count": 3}' }]);
    expect(turn).toMatchObject({
      reason: { kind: 'completed' },
      output: '{"count": 3}',
      structured: { count: 3 },
    });
    expect(told.map(({ source }) => source)).toEqual([{ kind: 'hook', name: 'output-schema' }]);
    expect(JSON.stringify(told[0]!.content)).toContain('JSON Schema');
    expect(JSON.stringify((await model.request(1)).body)).toContain(
      JSON.stringify(JSON.stringify(SCHEMA)).slice(1, -1),
    );
    expect(dataOf(events, 'turn/end')).toMatchObject([{ structured: { count: 3 } }]);
    expect(checkLog(events)).toEqual([]);
    expect(model.refusals).toEqual([]);
  });

  it('goes on after an answer that does not fit, and tells what is wrong', async () => {
    const { turn, told, model, events, uid, runtime } = await job([
      { text: 'There are three.' },
      { text: '{"count": "three"}' },
      { text: 'Here:\n```json\n{"count": 3}\n```' },
    ]);
    expect(turn).toMatchObject({ reason: { kind: 'completed' }, structured: { count: 3 }, steps: 3 });
    const words = told.map(({ content }) => JSON.stringify(content));
    expect(words).toEqual([
      expect.stringContaining('JSON Schema'),
      expect.stringContaining('no JSON value'),
      expect.stringContaining('/count must be integer'),
    ]);
    expect(checkLog(events)).toEqual([]);
    const sent = await model.request(3);
    const readBlob = async (sha256: Sha256) => (await runtime.store.readBlob(uid, sha256))!.bytes;
    expect(await rebuildRequest(events, { turn: 1, step: 3 }, readBlob)).toBe(sent.raw);
  });

  it('ends with an error after two corrections', async () => {
    const { turn, model } = await job(() => ({ text: 'There are three.' }));
    expect(turn).toMatchObject({
      reason: { kind: 'error', code: 'OUTPUT_SCHEMA_MISMATCH' },
      output: 'There are three.',
      steps: 3,
    });
    expect(turn).not.toHaveProperty('structured');
    expect(model.requests).toHaveLength(3);
  });

  it('ends by its limit of steps where that leaves no correction', async () => {
    const { turn } = await job(() => ({ text: 'no' }), {
      profile: { limits: { steps: 2, wallTimeMs: null, tokens: null, costUsd: null } },
    });
    expect(turn.reason).toEqual({ kind: 'limit', which: 'steps', value: 2 });
  });

  it('judges the last message only: calls come first, and the next turn is free again', async () => {
    const { turn, client, model } = await job([
      { text: 'I look.', calls: [{ name: 'glob', arguments: { pattern: '*' } }] },
      { text: '{"count": 0}' },
      { text: 'You are welcome.' },
    ]);
    expect(turn).toMatchObject({ structured: { count: 0 }, steps: 2 });
    await client.prompt(turn.sessionId, { text: 'Thanks' });
    const next = await client.turn(turn.sessionId, 2, { waitSeconds: 60 });
    expect(next).toMatchObject({ reason: { kind: 'completed' }, output: 'You are welcome.' });
    expect(next).not.toHaveProperty('structured');
    expect(model.requests).toHaveLength(3);
  });

  it('has a large value whole, and one that looks like a blob of the log as it is', async () => {
    const large = { count: 1, notes: 'x'.repeat(100_000) };
    const { turn, events } = await job([{ text: JSON.stringify(large), pieces: 20 }]);
    expect(turn.structured).toEqual(large);
    expect(JSON.stringify(events.at(-1)).length).toBeLessThan(20_000);
    const blob = { type: 'blob', sha256: '0'.repeat(64), bytes: 1, mediaType: 'x', head: '', tail: '' };
    const posed = await startWithApi([{ text: JSON.stringify(blob) }]);
    const { structured } = await posed.client.runTurn(
      { prompt: 'go', outputSchema: {} },
      { waitSeconds: 60 },
    );
    expect(structured).toEqual(blob);
  });
});
