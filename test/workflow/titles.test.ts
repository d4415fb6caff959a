/** Titles by the session's model, after its first turn. */
import { describe, expect, it } from 'vitest';
import type { FollowUpRef } from '../../src/contract/follow-up.js';
import type { SessionUid } from '../../src/contract/ids.js';
import type { Script } from '../support/scripted-model-server.js';
import { dataOf, turnSetup, type SetupOptions } from '../support/turn-setup.js';
import { until } from '../support/until.js';

const { start } = turnSetup();

async function titled(script: Script, options: SetupOptions = {}) {
  const parts = await start(script, { profile: { titles: 'model' }, ...options });
  const { runtime } = parts;
  const uid = await runtime.createSession();
  const refOf = (turn: number): FollowUpRef => ({ uid, turn, kind: 'title' });
  const settled = (of: SessionUid = uid, turn = 1) =>
    until(async () => (await runtime.store.followUps.due({ uid: of, turn })).length === 0);
  const turn = async (text: string) => {
    const number = await runtime.prompt(uid, text);
    return runtime.ended(uid, number!);
  };
  const titles = async () => dataOf(await runtime.events(uid), 'session/title');
  return { ...parts, uid, refOf, settled, turn, titles };
}

describe('a title by the model', () => {
  it('is asked for after the first turn, from prompt and answer, without tools', async () => {
    const { model, turn, settled, titles } = await titled([
      { text: 'The parser forgets the last line.' },
      { text: '"Parser loses its last line".\nAnd more.' },
      { text: 'Fixed.' },
    ]);
    await turn('Find the bug in parser.ts');
    await settled();
    expect(await titles()).toEqual([{ title: 'Parser loses its last line', source: 'model' }]);
    const { body } = await model.request(2);
    expect(body).not.toHaveProperty('tools');
    expect(JSON.stringify(body)).toMatch(/Find the bug in parser\.ts.*The parser forgets the last line/s);
    await turn('Fix it');
    await settled();
    expect(model.requests).toHaveLength(3);
    expect(model.refusals).toEqual([]);
  });

  it('is a part of neither the conversation nor its usage', async () => {
    const { model, turn, settled, runtime, uid } = await titled([
      { text: 'One.' },
      { text: 'A title' },
      { text: 'Two.' },
    ]);
    const first = await turn('first');
    await settled();
    await turn('second');
    expect(JSON.stringify((await model.request(3)).body)).not.toContain('A title');
    const { usage } = await runtime.store.readState(uid);
    expect(usage.inputTokens).toBe(2 * first.usage.inputTokens);
  });

  it('leaves the title of a person, also one that was given while the model was asked', async () => {
    const { model, turn, settled, titles, runtime, uid } = await titled([
      { text: 'One.' },
      { text: 'A title', delayMs: 300 },
    ]);
    await turn('first');
    await model.request(2);
    await runtime.store.transact(uid, (transaction) =>
      transaction.append([{ type: 'session/title', data: { title: 'Mine', source: 'user' } }]),
    );
    await settled();
    expect(await titles()).toEqual([{ title: 'Mine', source: 'user' }]);
  });

  it('is not asked for where a person has given one, and not with the profile of every day', async () => {
    for (const titles of ['model', 'prompt'] as const) {
      const { runtime, turn, model, uid } = await titled([{ text: 'One.' }], { profile: { titles } });
      if (titles === 'model') {
        await runtime.store.transact(uid, (transaction) =>
          transaction.append([{ type: 'session/title', data: { title: 'Mine', source: 'user' } }]),
        );
      }
      await turn('first');
      expect(await runtime.store.followUps.begin({ uid, turn: 1, kind: 'title' })).toBeUndefined();
      expect(model.requests).toHaveLength(1);
    }
  });

  it('is tried again where the provider fails for now, and given up where it fails for good', async () => {
    const { model, turn, settled, titles } = await titled([
      { text: 'One.' },
      { status: 503 },
      { text: 'Second try' },
    ]);
    await turn('first');
    await settled();
    expect(model.requests).toHaveLength(3);
    expect(await titles()).toMatchObject([{ title: 'Second try' }]);

    const other = await titled([{ text: 'One.' }, { status: 400, body: { error: { message: 'no' } } }]);
    await other.turn('first');
    await other.settled();
    expect(other.model.requests).toHaveLength(2);
    expect(await other.titles()).toEqual([]);
  });

  it('is not asked for by a session that has spent its allowance', async () => {
    const { model, turn, settled } = await titled([{ text: 'One.' }], {
      profile: { titles: 'model', sessionLimits: { tokens: 16, costUsd: null } },
    });
    await turn('first');
    await settled();
    expect(model.requests).toHaveLength(1);
  });
});
