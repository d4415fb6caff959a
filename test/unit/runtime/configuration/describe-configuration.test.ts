import { describe, expect, it } from 'vitest';
import { configurationSchema } from '../../../../src/contract/configuration.js';
import { describeConfiguration, MASK } from '../../../../src/runtime/configuration/describe-configuration.js';
import { loadConfiguration } from '../../../../src/runtime/configuration/load-configuration.js';

function describedValues(configuration: unknown): Record<string, unknown> {
  const loaded = { configuration: configurationSchema.parse(configuration), origins: {} };
  return Object.fromEntries(describeConfiguration(loaded).map(({ path, value }) => [path, value]));
}

describe('describeConfiguration', () => {
  it('gives each value with where it comes from', () => {
    const loaded = loadConfiguration({
      env: { TURNKEEPER_PORT: '9000' },
      flags: { storeUrl: 'sqlite:other.db' },
      userHome: '/nobody-lives-here',
    });
    const described = describeConfiguration(loaded);
    expect(described).toContainEqual({
      path: 'server.port',
      value: 9000,
      origin: 'environment',
      source: 'TURNKEEPER_PORT',
    });
    expect(described).toContainEqual({
      path: 'store.url',
      value: 'sqlite:other.db',
      origin: 'flag',
      source: '--store-url',
    });
    expect(described).toContainEqual({
      path: 'engine.address',
      value: null,
      origin: 'default',
      source: 'default',
    });
  });

  it('masks every header, the password of an address and secret parameters of one', () => {
    const values = describedValues({
      store: { url: 'postgres://ann:hush@db/turns?sslpassword=hush&sslmode=require' },
      providers: {
        'local.1': {
          wire: 'messages',
          baseUrl: 'https://ann:hush@models.example/v1?api_key=hush',
          apiKeyEnv: 'LOCAL_KEY',
          headers: { 'x-anything': 'hush' },
        },
      },
    });
    expect(JSON.stringify(values)).not.toContain('hush');
    expect(values['store.url']).toBe(`postgres://ann:${MASK}@db/turns?sslpassword=${MASK}&sslmode=require`);
    expect(values['providers["local.1"].apiKeyEnv']).toBe('LOCAL_KEY');
    expect(values['providers["local.1"].headers.x-anything']).toBe(MASK);
  });
});
