import { describe, expect, it } from 'vitest';
import { dataOf, turnSetup } from '../support/turn-setup.js';

const { startWithApi } = turnSetup();

/** The provider `scripted` with two models, and one on the other wire with a single model. */
const PROVIDERS = {
  scripted: { models: { 'scripted-model': {}, 'second-model': {} } },
  other: { wire: 'messages', models: { 'other-model': {} } },
} as const;

const answers = () => ({ text: 'Yes.' });

describe('the provider and the model of a turn', () => {
  it('are the profile’s, the session’s over it, and the prompt’s over both for its own turn', async () => {
    const { model, client } = await startWithApi(answers, { providers: PROVIDERS });
    const { id } = await client.createSession({});
    const ask = async (prompt: object) => {
      const { turn } = await client.prompt(id, { text: 'go', ...prompt });
      expect((await client.turn(id, turn ?? 0, { waitSeconds: 30 })).output).toBe('Yes.');
      const { wire, body } = model.requests.at(-1)!;
      return [wire, body['model']];
    };
    expect(await ask({})).toEqual(['chat-completions', 'scripted-model']);
    expect(await ask({ model: 'second-model' })).toEqual(['chat-completions', 'second-model']);
    expect(await ask({})).toEqual(['chat-completions', 'scripted-model']);
    // A provider alone brings its only model with it.
    expect(await ask({ provider: 'other' })).toEqual(['messages', 'other-model']);
    await client.updateSession(id, { provider: 'other' });
    expect(await client.session(id)).toMatchObject({ provider: 'other', model: 'other-model' });
    expect(await ask({})).toEqual(['messages', 'other-model']);
    // And the profile's provider brings the profile's model.
    expect(await ask({ provider: 'scripted' })).toEqual(['chat-completions', 'scripted-model']);
    expect(await ask({ provider: 'scripted', model: 'second-model' })).toEqual([
      'chat-completions',
      'second-model',
    ]);
    expect(model.refusals).toEqual([]);

    const headers = dataOf((await client.events(id)).items, 'request/header');
    expect(headers.map(({ provider, model: name, reason }) => [provider, name, reason])).toEqual([
      ['scripted', 'scripted-model', 'initial'],
      ['scripted', 'second-model', 'change'],
      ['scripted', 'scripted-model', 'change'],
      ['other', 'other-model', 'change'],
      ['scripted', 'scripted-model', 'change'],
      ['scripted', 'second-model', 'change'],
    ]);
  });

  it('are given at the session’s creation too, and a model alone is its provider’s', async () => {
    const { model, client } = await startWithApi(answers, { providers: PROVIDERS });
    const { id, provider } = await client.createSession({ model: 'second-model' });
    expect(provider).toBe('scripted');
    await client.prompt(id, { text: 'go' });
    await client.turn(id, 1, { waitSeconds: 30 });
    expect(model.requests[0]?.body['model']).toBe('second-model');
    const other = await client.createSession({ provider: 'other' });
    expect(other).toMatchObject({ provider: 'other', model: 'other-model' });
  });

  it('are those that a waiting prompt was accepted with, whatever the session is set to since', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { model, client } = await startWithApi(
      async ({ number }) => {
        if (number === 1) await held;
        return { text: 'Yes.' };
      },
      { providers: PROVIDERS },
    );
    const { id } = await client.createSession({});
    await client.prompt(id, { text: 'one' });
    await model.request(1);
    await client.prompt(id, { text: 'two', model: 'second-model' });
    await client.updateSession(id, { provider: 'other' });
    release();
    await client.turn(id, 1, { waitSeconds: 30 });
    expect((await client.turn(id, 2, { waitSeconds: 30 })).reason).toEqual({ kind: 'completed' });
    expect(model.requests[1]?.body['model']).toBe('second-model');
  });

  it('do not change inside of a turn when the session’s do', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { model, client } = await startWithApi(
      async ({ number }) => {
        if (number > 1) return { text: 'Yes.' };
        await held;
        return { calls: [{ name: 'glob', arguments: { pattern: '*' } }] };
      },
      { providers: PROVIDERS },
    );
    const { id } = await client.createSession({});
    await client.prompt(id, { text: 'one' });
    await model.request(1);
    await client.updateSession(id, { provider: 'other' });
    release();
    await client.turn(id, 1, { waitSeconds: 30 });
    expect(model.requests[1]?.body['model']).toBe('scripted-model');
  });

  it.each([
    ['a provider that is not there', { provider: 'nowhere' }, 'provider', 'no provider "nowhere"'],
    ['a model that its provider lacks', { model: 'nothing' }, 'model', 'scripted-model, second-model'],
    [
      'a model of another provider',
      { provider: 'other', model: 'second-model' },
      'model',
      'it has: other-model',
    ],
    ['a provider alone that has several models', { provider: 'many' }, 'model', 'it has: a, b'],
  ])('are refused with 400 at every door for %s', async (_name, choice, field, says) => {
    const { model, client } = await startWithApi(answers, {
      providers: { ...PROVIDERS, many: { models: { a: {}, b: {} } } },
    });
    const { id, headSeq } = await client.createSession({});
    const refusal = {
      status: 400,
      code: 'INVALID_REQUEST',
      field,
      message: expect.stringContaining(says) as unknown,
    };
    await expect(client.createSession(choice)).rejects.toMatchObject(refusal);
    await expect(client.updateSession(id, choice)).rejects.toMatchObject(refusal);
    await expect(client.prompt(id, { text: 'go', ...choice })).rejects.toMatchObject(refusal);
    await expect(client.runTurn({ prompt: 'go', sessionId: id, ...choice })).rejects.toMatchObject(refusal);
    await expect(client.runTurn({ prompt: 'go', ...choice })).rejects.toMatchObject(refusal);
    expect((await client.session(id)).headSeq).toBe(headSeq);
    expect(model.requests).toEqual([]);
  });
});

describe('the parameters of a profile', () => {
  const parameters = { temperature: 0.5, maxTokens: 3000, stop: ['END'], reasoningEffort: 'high' };

  it.each([
    ['chat-completions', { temperature: 0.5, max_tokens: 3000, stop: ['END'], reasoning_effort: 'high' }],
    [
      'messages',
      { max_tokens: 3000, stop_sequences: ['END'], thinking: { type: 'enabled', budget_tokens: 1976 } },
    ],
  ] as const)(
    'reach the wire %s in each request, and are those of the session’s profile',
    async (wire, sent) => {
      const { model, client } = await startWithApi(answers, { wire, profiles: { tuned: { parameters } } });
      const { id } = await client.createSession({});
      await client.prompt(id, { text: 'go' });
      await client.turn(id, 1, { waitSeconds: 30 });
      expect(model.requests[0]?.body).not.toHaveProperty('temperature');
      await client.updateSession(id, { profile: 'tuned' });
      await client.prompt(id, { text: 'go' });
      await client.turn(id, 2, { waitSeconds: 30 });
      expect(model.requests[1]?.body).toMatchObject(sent);
      expect(model.refusals).toEqual([]);
      const { items } = await client.events(id, { types: ['request/header'] });
      expect(items.map(({ data }) => data)).toMatchObject([
        { reason: 'initial', parameters: {} },
        { reason: 'change', parameters },
      ]);
    },
  );
});
