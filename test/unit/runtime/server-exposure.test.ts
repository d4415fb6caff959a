import { describe, expect, it } from 'vitest';
import { configurationSchema } from '../../../src/contract/configuration.js';
import { checkExposure, hostsAnswered } from '../../../src/runtime/server-exposure.js';

const configured = (server: Record<string, unknown>) => ({
  configuration: configurationSchema.parse({ server }),
  origins: { 'server.host': 'environment' as const },
});

describe('an address that other machines can reach', () => {
  it.each(['0.0.0.0', '::', '10.0.0.1', 'agents.example'])('needs a key first: %s', (host) => {
    expect(() => {
      checkExposure(configured({ host }), false);
    }).toThrow(
      expect.objectContaining({
        code: 'HOST_NOT_ALLOWED',
        message: expect.stringContaining('turnkeeper keys create') as string,
      }) as Error,
    );
    expect(() => {
      checkExposure(configured({ host }), true);
    }).not.toThrow();
  });

  it('is none of loopback', () => {
    for (const host of ['127.0.0.1', 'localhost', '::1']) {
      expect(() => {
        checkExposure(configured({ host }), false);
      }).not.toThrow();
    }
  });
});

describe('the host names that a server answers to', () => {
  const of = (server: Record<string, unknown>) => hostsAnswered(configured(server).configuration.server);

  it('are those of loopback there, and any elsewhere', () => {
    expect(of({})).toEqual(['127.0.0.1', 'localhost', '[::1]']);
    expect(of({ host: '0.0.0.0' })).toBeNull();
  });

  it('are beside those of loopback what the operator lists, wherever it listens', () => {
    const expected = ['127.0.0.1', 'localhost', '[::1]', 'agents.example'];
    expect(of({ allowedHosts: ['agents.example'] })).toEqual(expected);
    expect(of({ allowedHosts: ['agents.example'], host: '0.0.0.0' })).toEqual(expected);
  });
});
