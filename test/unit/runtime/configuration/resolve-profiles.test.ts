import { describe, expect, it } from 'vitest';
import { configurationSchema, DEFAULT_PROFILE } from '../../../../src/contract/configuration.js';
import { ConfigurationError } from '../../../../src/runtime/configuration/configuration-error.js';
import {
  checkProfilePrices,
  checkProfileProviders,
  resolveProfiles,
} from '../../../../src/runtime/configuration/resolve-profiles.js';

function profilesOf(profiles: unknown, more: Record<string, unknown> = {}, env: NodeJS.ProcessEnv = {}) {
  return resolveProfiles(configurationSchema.parse({ profiles, ...more }), env);
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigurationError && error.code === 'PROFILE_INVALID') return error.message;
    throw error;
  }
  throw new Error('the profiles were accepted');
}

describe('resolveProfiles', () => {
  it('gives a default profile with the demo provider where nothing is configured', () => {
    expect(profilesOf({})).toEqual({
      default: { ...DEFAULT_PROFILE, name: 'default', provider: 'demo', model: 'demo' },
    });
  });

  it('uses DeepSeek where its key is set', () => {
    expect(profilesOf({}, {}, { DEEPSEEK_API_KEY: 'k' }).default).toMatchObject({
      provider: 'deepseek',
      model: 'deepseek-v4-flash',
    });
    expect(profilesOf({}, {}, { DEEPSEEK_API_KEY: ' ' }).default?.provider).toBe('demo');
  });

  it('takes what is left out from the extended profile, limits and parameters key by key', () => {
    const { child } = profilesOf({
      base: {
        provider: 'local',
        model: 'small',
        parameters: { temperature: 0, maxTokens: 10 },
        limits: { steps: 3, tokens: 100 },
        rules: [{ tool: 'bash', decision: 'ask' }],
        permission: 'read-only',
      },
      middle: { extends: 'base', limits: { tokens: null } },
      child: { extends: 'middle', parameters: { maxTokens: 20 }, rules: [], instructions: 'Be brief.' },
    });
    expect(child).toEqual({
      ...DEFAULT_PROFILE,
      name: 'child',
      provider: 'local',
      model: 'small',
      permission: 'read-only',
      parameters: { temperature: 0, maxTokens: 20 },
      limits: { ...DEFAULT_PROFILE.limits, steps: 3, tokens: null },
      rules: [],
      instructions: 'Be brief.',
    });
  });

  it('gives a profile that names no provider the one of the default profile', () => {
    const { reviewer } = profilesOf({
      default: { provider: 'local', model: 'small', permission: 'full-access' },
      reviewer: { instructions: 'Review.' },
    });
    expect(reviewer).toMatchObject({
      provider: 'local',
      model: 'small',
      permission: DEFAULT_PROFILE.permission,
    });
  });

  it('takes the only model of the provider, and never the model of another provider', () => {
    const providers = { local: { wire: 'messages', models: { small: {} } } };
    const { child } = profilesOf(
      {
        base: { provider: 'deepseek', model: 'deepseek-v4-pro' },
        child: { extends: 'base', provider: 'local' },
      },
      { providers },
    );
    expect(child).toMatchObject({ provider: 'local', model: 'small' });
  });

  it('refuses a provider without a model to take, and names the models', () => {
    const providers = { local: { wire: 'messages', models: { small: {}, large: {} } } };
    const message = refusal(() => profilesOf({ default: { provider: 'local' } }, { providers }));
    expect(message).toMatch(/profiles\.default\.model is missing.*small, large/);
  });

  it('refuses a circle and shows it', () => {
    const circle = { one: { extends: 'two' }, two: { extends: 'three' }, three: { extends: 'two' } };
    expect(refusal(() => profilesOf(circle))).toContain('one -> two -> three -> two');
    expect(refusal(() => profilesOf({ default: { extends: 'default' } }))).toContain('default -> default');
  });

  it.each(['revewer', 'constructor', '__proto__'])('refuses to extend %s, which is not there', (name) => {
    const message = refusal(() => profilesOf({ reviewer: {}, child: { extends: name } }));
    expect(message).toContain(`profiles.child.extends names "${name}", which is no profile`);
  });

  it('lets a profile extend the default one that nobody wrote', () => {
    expect(profilesOf({ child: { extends: 'default' } }).child).toMatchObject({ provider: 'demo' });
  });
});

describe('checkProfileProviders', () => {
  it('names the profile and the nearest provider', () => {
    const profiles = profilesOf({ default: { provider: 'depseek', model: 'm' } });
    expect(
      refusal(() => {
        checkProfileProviders(profiles, ['deepseek', 'demo']);
      }),
    ).toMatch(/profiles\.default\.provider names "depseek".*did you mean "deepseek"\?/);
    checkProfileProviders(profilesOf({}), ['demo']);
  });
});

describe('limits of a session', () => {
  it('are none by default, and come key by key from the extended profile', () => {
    const { child, other } = profilesOf({
      base: { sessionLimits: { tokens: 100, costUsd: 1 } },
      child: { extends: 'base', sessionLimits: { costUsd: null } },
      other: {},
    });
    expect(child?.sessionLimits).toEqual({ tokens: 100, costUsd: null });
    expect(other?.sessionLimits).toEqual({ tokens: null, costUsd: null });
  });
});

describe('checkProfilePrices', () => {
  const models = [
    { provider: 'local', model: 'free', price: { input: 0, output: 0 } },
    { provider: 'local', model: 'unpriced' },
  ];
  const checked = (profile: object) => () => {
    checkProfilePrices(profilesOf({ default: { provider: 'local', ...profile } }), models);
  };

  it.each(['limits', 'sessionLimits'])('refuses a limit on cost in %s for a model without a price', (key) => {
    const message = refusal(checked({ model: 'unpriced', [key]: { costUsd: 1 } }));
    expect(message).toContain(`profiles.default.${key}.costUsd`);
    expect(message).toContain('providers.local.models.unpriced.price');
    expect(checked({ model: 'free', [key]: { costUsd: 1 } })).not.toThrow();
  });

  it('asks for no price where cost is not limited', () => {
    expect(checked({ model: 'unpriced', limits: { tokens: 5 } })).not.toThrow();
  });
});
