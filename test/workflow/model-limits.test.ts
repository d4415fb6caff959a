import { describe, expect, it } from 'vitest';
import type { Reply } from '../support/scripted-model-server.js';
import { dataOf, turnSetup } from '../support/turn-setup.js';

const { start, startWithApi } = turnSetup();

const LOOK = { name: 'glob', arguments: { pattern: '*' } };
const looks = (input: number, output: number): Reply => ({ calls: [LOOK], usage: { input, output } });
const says = (text: string, input: number, output: number): Reply => ({ text, usage: { input, output } });
const NO_LIMITS = { steps: null, wallTimeMs: null, tokens: null, costUsd: null };
const PRICE = { price: { input: 1, output: 2 } };

describe('a limit on the tokens of a turn', () => {
  it('ends it before the call whose least use does not fit any more', async () => {
    // After two steps 330 are used, and the third says again at least what the second said: 220 and one.
    const { model, runtime } = await start([looks(100, 10), looks(200, 20), says('never', 1, 1)], {
      profile: { limits: { ...NO_LIMITS, tokens: 550 } },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toEqual({ kind: 'limit', which: 'tokens', value: 550 });
    expect(model.requests).toHaveLength(2);
    expect(turn.steps).toBe(2);
    // The calls of the last answer ran and have their results: the next prompt goes on from there.
    expect(dataOf(await runtime.events(uid), 'tool/result')).toHaveLength(2);
  });

  it('lets the call through that just fits', async () => {
    const { model, runtime } = await start([looks(100, 10), looks(200, 20), says('Done.', 1, 1)], {
      profile: { limits: { ...NO_LIMITS, tokens: 551 } },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
    expect(model.requests).toHaveLength(3);
  });

  it('never ends a turn that has nothing more to ask', async () => {
    const { runtime } = await start([says('Done.', 5000, 5000)], {
      profile: { limits: { ...NO_LIMITS, tokens: 100 } },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    expect((await runtime.ended(uid, 1)).reason).toEqual({ kind: 'completed' });
  });

  it('counts failed attempts, and ends the turn in the place of another attempt', async () => {
    const { model, runtime } = await start(
      [{ text: 'one two three', usage: { input: 300, output: 100 }, finish: null }, says('never', 1, 1)],
      { profile: { limits: { ...NO_LIMITS, tokens: 400 } }, attempts: 6 },
    );
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toEqual({ kind: 'limit', which: 'tokens', value: 400 });
    expect(turn.usage).toMatchObject({ inputTokens: 300, outputTokens: 100 });
    expect(model.requests).toHaveLength(1);
  });

  it('is raised for the next prompt, which goes on from the log', async () => {
    const { model, client } = await startWithApi([looks(100, 10), looks(200, 20), says('Done.', 250, 10)], {
      profile: { limits: { ...NO_LIMITS, tokens: 200 } },
    });
    const { id } = await client.createSession({});
    await client.prompt(id, { text: 'Look around' });
    const first = await client.turn(id, 1, { waitSeconds: 30 });
    expect(first.reason).toEqual({ kind: 'limit', which: 'tokens', value: 200 });
    expect(model.requests).toHaveLength(1);

    // What is due says again 110 tokens, and this prompt may not use as many.
    await client.updateSession(id, { limits: { tokens: 100 } });
    await client.prompt(id, { text: 'Go on' });
    const second = await client.turn(id, 2, { waitSeconds: 30 });
    expect(second.reason).toEqual({ kind: 'limit', which: 'tokens', value: 100 });
    expect(model.requests).toHaveLength(1);

    await client.updateSession(id, { limits: { tokens: 100_000 } });
    await client.prompt(id, { text: 'Now go on' });
    expect((await client.turn(id, 3, { waitSeconds: 30 })).output).toBe('Done.');
    for (const said of ['Look around', 'Go on', 'Now go on']) expect(model.requests[1]?.raw).toContain(said);
    expect(model.refusals).toEqual([]);
  });

  it('is that of the turn’s beginning, whatever is changed while it runs', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { model, client } = await startWithApi(
      async ({ number }) => {
        if (number === 1) await held;
        return looks(100, 10);
      },
      { profile: { limits: { ...NO_LIMITS, tokens: 200 } } },
    );
    const { id } = await client.createSession({});
    await client.prompt(id, { text: 'go' });
    await model.request(1);
    await client.updateSession(id, { limits: { tokens: 100_000 } });
    release();
    const turn = await client.turn(id, 1, { waitSeconds: 30 });
    expect(turn.reason).toEqual({ kind: 'limit', which: 'tokens', value: 200 });
  });
});

describe('a limit on the cost of a turn', () => {
  it('ends it before the call that does not fit, by the prices of its model', async () => {
    // A step costs 1200 dollars of a million; the reserve is what is read again, and one token.
    const { model, runtime } = await start(() => looks(1000, 100), {
      model: PRICE,
      profile: { limits: { ...NO_LIMITS, costUsd: 0.0034 } },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    const turn = await runtime.ended(uid, 1);
    expect(turn.reason).toEqual({ kind: 'limit', which: 'cost', value: 0.0034 });
    expect(turn.usage.costUsd).toBeCloseTo(0.0024, 10);
    expect(model.requests).toHaveLength(2);
  });

  it('takes the price of cached input for what is said again', async () => {
    const { model, runtime } = await start(() => looks(1000, 100), {
      model: { price: { input: 1, output: 2, cacheRead: 0.01 } },
      profile: { limits: { ...NO_LIMITS, costUsd: 0.0034 } },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    await runtime.ended(uid, 1);
    expect(model.requests).toHaveLength(3);
  });

  it('is refused for a model without a price, at every door', async () => {
    const { client } = await startWithApi([], {
      providers: { scripted: { models: { 'scripted-model': {}, priced: PRICE } } },
    });
    const refused = (field: string) => ({ status: 400, code: 'INVALID_REQUEST', field });
    await expect(client.createSession({ limits: { costUsd: 1 } })).rejects.toMatchObject(
      refused('limits.costUsd'),
    );
    const { id } = await client.createSession({ model: 'priced', limits: { costUsd: 1 } });
    await expect(client.updateSession(id, { model: 'scripted-model' })).rejects.toMatchObject(
      refused('model'),
    );
    await expect(client.prompt(id, { text: 'go', model: 'scripted-model' })).rejects.toMatchObject(
      refused('model'),
    );
    const other = await client.createSession({});
    await expect(client.updateSession(other.id, { limits: { costUsd: 1 } })).rejects.toMatchObject(
      refused('limits.costUsd'),
    );
  });

  it('ends a turn whose model has lost its price since', async () => {
    const { model, runtime } = await start([says('never', 1, 1)], {
      profile: { limits: { ...NO_LIMITS, costUsd: 1 } },
    });
    const uid = await runtime.createSession();
    await runtime.prompt(uid, 'go');
    expect((await runtime.ended(uid, 1)).reason).toMatchObject({ kind: 'error', code: 'UNPRICED_MODEL' });
    expect(model.requests).toEqual([]);
  });
});

describe('the limits of a session', () => {
  it.each([
    ['tokens', { tokens: 400, costUsd: null }, 400],
    ['cost', { tokens: null, costUsd: 0.0004 }, 0.0004],
  ] as const)(
    'end a turn by their %s, and refuse prompts from then on',
    async (which, sessionLimits, value) => {
      const { model, client } = await startWithApi(() => looks(100, 10), {
        model: PRICE,
        profile: { sessionLimits },
      });
      const { id } = await client.createSession({});
      await client.prompt(id, { text: 'go', requestId: 'first' });
      const turn = await client.turn(id, 1, { waitSeconds: 30 });
      expect(turn.reason).toEqual({ kind: 'limit', which, value });
      expect(model.requests).toHaveLength(3);
      const { headSeq } = await client.session(id);
      for (const mode of ['queue', 'steer', 'inject'] as const) {
        await expect(client.prompt(id, { text: 'more', mode })).rejects.toMatchObject({
          status: 409,
          code: 'LIMIT_REACHED',
        });
      }
      await expect(client.runTurn({ prompt: 'more', sessionId: id })).rejects.toMatchObject({
        code: 'LIMIT_REACHED',
      });
      expect((await client.session(id)).headSeq).toBe(headSeq);
      // One that was accepted before is answered as before.
      expect(await client.prompt(id, { text: 'go', requestId: 'first' })).toMatchObject({ duplicate: true });
    },
  );

  it('count all of its turns, and leave other sessions alone', async () => {
    const { client } = await startWithApi(() => says('Yes.', 100, 10), {
      profile: { sessionLimits: { tokens: 300, costUsd: null } },
    });
    const { id } = await client.createSession({});
    await client.prompt(id, { text: 'one' });
    expect((await client.turn(id, 1, { waitSeconds: 30 })).reason).toEqual({ kind: 'completed' });
    await client.prompt(id, { text: 'two' });
    expect((await client.turn(id, 2, { waitSeconds: 30 })).reason).toEqual({ kind: 'completed' });
    await expect(client.prompt(id, { text: 'three' })).rejects.toMatchObject({ code: 'LIMIT_REACHED' });
    const other = await client.createSession({});
    expect(await client.prompt(other.id, { text: 'one' })).toMatchObject({ turn: 1 });
    await client.turn(other.id, 1, { waitSeconds: 30 });
  });

  it('end what was queued before they were reached, a turn each, with no request sent', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { model, client } = await startWithApi(
      async () => {
        await held;
        return says('Yes.', 100, 10);
      },
      { profile: { sessionLimits: { tokens: 120, costUsd: null } } },
    );
    const { id } = await client.createSession({});
    await client.prompt(id, { text: 'one' });
    await client.prompt(id, { text: 'two' });
    await client.prompt(id, { text: 'three' });
    release();
    await client.turn(id, 1, { waitSeconds: 30 });
    for (const turn of [2, 3]) {
      const { reason } = await client.turn(id, turn, { waitSeconds: 30 });
      expect(reason).toEqual({ kind: 'limit', which: 'tokens', value: 120 });
    }
    expect((await client.session(id)).status).toBe('idle');
    expect(model.requests).toHaveLength(1);
  });
});
