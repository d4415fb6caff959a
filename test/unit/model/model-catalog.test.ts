import { describe, expect, it } from 'vitest';
import { providerEntrySchema } from '../../../src/contract/configuration.js';
import { createModelCatalog } from '../../../src/model/model-catalog.js';

const request = { model: 'm', system: '', messages: [], tools: [], parameters: {} };

async function failureOf(catalog: ReturnType<typeof createModelCatalog>, provider: string, model: string) {
  const { adapter } = catalog.resolve(provider, model)!;
  const chunks = adapter.stream(request, {
    signal: new AbortController().signal,
    readBlob: () => Promise.reject(new Error('none')),
  });
  try {
    await chunks[Symbol.asyncIterator]().next();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('the model catalog', () => {
  it('knows the built-in providers', () => {
    const items = createModelCatalog({}, { DEEPSEEK_API_KEY: 'key' }).list();
    expect(items.map(({ provider, model }) => `${provider}/${model}`)).toEqual([
      'deepseek/deepseek-v4-flash',
      'deepseek/deepseek-v4-pro',
      'deepseek-messages/deepseek-v4-flash',
      'deepseek-messages/deepseek-v4-pro',
      'demo/demo',
    ]);
    expect(items.every(({ available }) => available)).toBe(true);
    expect(items[0]).toMatchObject({
      contextWindow: 1_000_000,
      price: { input: 0.14 },
      abilities: { tools: true },
    });
  });

  it('does not know other providers and models', () => {
    const catalog = createModelCatalog({}, {});
    for (const [provider, model] of [
      ['nobody', 'demo'],
      ['demo', 'nothing'],
      ['__proto__', 'x'],
      ['demo', 'toString'],
    ] as const) {
      expect(catalog.resolve(provider, model)).toBeUndefined();
    }
  });

  it('names the variable of a key that is missing, at the call', async () => {
    const catalog = createModelCatalog({}, { DEEPSEEK_API_KEY: ' ' });
    expect(catalog.resolve('deepseek', 'deepseek-v4-flash')?.available).toBe(false);
    for (const provider of ['deepseek', 'deepseek-messages']) {
      expect(await failureOf(catalog, provider, 'deepseek-v4-flash')).toMatchObject({
        code: 'MISSING_CREDENTIAL',
        retryable: false,
        message: expect.stringContaining('DEEPSEEK_API_KEY') as unknown,
      });
    }
  });

  it('says of a provider without an address which key sets it', async () => {
    const entry = providerEntrySchema.parse({ wire: 'chat-completions', models: { m: {} } });
    const catalog = createModelCatalog({ 'openai-compatible': entry }, {});
    expect(catalog.list()).toContainEqual(
      expect.objectContaining({ provider: 'openai-compatible', available: false }),
    );
    expect(await failureOf(catalog, 'openai-compatible', 'm')).toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('providers.openai-compatible.baseUrl') as unknown,
    });
  });

  it('needs no key for a provider that names none', () => {
    const entry = providerEntrySchema.parse({
      wire: 'chat-completions',
      baseUrl: 'http://127.0.0.1:1/v1',
      models: { m: {} },
    });
    expect(createModelCatalog({ local: entry }, {}).resolve('local', 'm')?.available).toBe(true);
  });

  it('extends a built-in entry by a configured one of the same wire', () => {
    const entry = providerEntrySchema.parse({
      wire: 'chat-completions',
      concurrency: 2,
      models: { mine: { contextWindow: 10 } },
    });
    const catalog = createModelCatalog({ deepseek: entry }, {});
    expect(Object.keys(catalog.providers['deepseek']!.models)).toEqual([
      'deepseek-v4-flash',
      'deepseek-v4-pro',
      'mine',
    ]);
    expect(catalog.providers['deepseek']).toMatchObject({
      baseUrl: 'https://api.deepseek.com',
      apiKeyEnv: 'DEEPSEEK_API_KEY',
      concurrency: 2,
    });
  });

  it('replaces a built-in entry by a configured one of another wire', () => {
    const entry = providerEntrySchema.parse({
      wire: 'messages',
      baseUrl: 'http://127.0.0.1:1',
      models: { mine: {} },
    });
    const catalog = createModelCatalog({ deepseek: entry }, {});
    expect(catalog.resolve('deepseek', 'deepseek-v4-flash')).toBeUndefined();
    expect(catalog.resolve('deepseek', 'mine')?.adapter.wire).toBe('messages');
  });

  it('says of a key that HTTP cannot carry that it cannot, without showing it', async () => {
    const catalog = createModelCatalog({}, { DEEPSEEK_API_KEY: 'sk-line\nbreak' });
    const failure = await failureOf(catalog, 'deepseek', 'deepseek-v4-flash');
    expect(failure).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(String(failure)).not.toContain('sk-line');
  });
});
