/**
 * Where the session log lies, from `store.url`. Opening it is the store's.
 */
import { isAbsolute, join, normalize } from 'node:path';
import type { Configuration } from '../../contract/configuration.js';
import { ConfigurationError } from './configuration-error.js';

export interface StoreLocation {
  readonly kind: 'sqlite';
  /** Absolute. */
  readonly file: string;
}

/**
 * `sqlite:sessions.db` is a file in the home, `sqlite:/var/lib/sessions.db` any other.
 *
 * @throws ConfigurationError `STORE_NOT_AVAILABLE` for every other store; the message never shows the address.
 */
export function storeLocation({ store, home }: Pick<Configuration, 'store' | 'home'>): StoreLocation {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(store.url)?.[1]?.toLowerCase();
  if (scheme !== 'sqlite') {
    const isPostgres = scheme === 'postgres' || scheme === 'postgresql';
    throw notAvailable(
      isPostgres
        ? 'names a PostgreSQL database, which is not available in this version yet.'
        : 'must begin with "sqlite:".',
    );
  }
  const path = store.url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '' || path === ':memory:' || path.startsWith('//')) {
    throw notAvailable('names no file: the session log must outlive the process.');
  }
  return { kind: 'sqlite', file: isAbsolute(path) ? normalize(path) : join(home, path) };
}

function notAvailable(reason: string): ConfigurationError {
  return new ConfigurationError('STORE_NOT_AVAILABLE', [
    {
      source: 'configuration',
      path: 'store.url',
      message: `${reason} Use "sqlite:sessions.db", a file in the home (variable TURNKEEPER_STORE_URL).`,
    },
  ]);
}
