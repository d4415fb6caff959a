import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../../src/runtime/configuration/configuration-error.js';
import { storeLocation } from '../../../../src/runtime/configuration/store-location.js';

const at = (url: string) => storeLocation({ store: { url }, home: '/home/ann/.turnkeeper' });

describe('storeLocation', () => {
  it.each([
    ['sqlite:sessions.db', '/home/ann/.turnkeeper/sessions.db'],
    ['sqlite:data/sessions.db', '/home/ann/.turnkeeper/data/sessions.db'],
    ['sqlite:/var/lib/sessions.db', '/var/lib/sessions.db'],
    ['sqlite:///var/lib/sessions.db', '/var/lib/sessions.db'],
  ])('%s is the file %s', (url, file) => {
    expect(at(url)).toEqual({ kind: 'sqlite', file });
  });

  it('says that PostgreSQL is not available yet, without showing the address', () => {
    const attempt = () => at('postgres://ann:hush@db/turns');
    expect(attempt).toThrow(ConfigurationError);
    expect(attempt).toThrow(/store\.url names a PostgreSQL database.*not available in this version/);
    expect(attempt).not.toThrow(/hush/);
  });

  it.each(['sessions.db', 'mysql://db', 'sqlite:', 'sqlite::memory:', 'sqlite://host/file'])(
    'refuses %s',
    (url) => {
      expect(() => at(url)).toThrow(/Use "sqlite:sessions\.db"/);
    },
  );
});
