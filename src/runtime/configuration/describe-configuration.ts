/**
 * The configuration for people to read: each value with its source, secrets masked. Printing it is the command's.
 */
import type { ConfigurationOrigin, LoadedConfiguration } from './load-configuration.js';
import { formatPath, leafPaths, valueAt, type KeyPath } from './configuration-path.js';
import { flagName, SETTINGS } from './settings.js';

export const MASK = '********';

export interface DescribedValue {
  readonly path: string;
  /** Masked where it is or holds a secret. */
  readonly value: unknown;
  readonly origin: ConfigurationOrigin;
  /** `default`, the file's path, `TURNKEEPER_PORT`, `--port`. */
  readonly source: string;
}

/** Every value of the configuration, in the schema's order. */
export function describeConfiguration(loaded: LoadedConfiguration): readonly DescribedValue[] {
  return leafPaths(loaded.configuration).map((path) => {
    const key = formatPath(path);
    const origin = loaded.origins[key] ?? 'default';
    return {
      path: key,
      value: masked(path, valueAt(loaded.configuration, path)),
      origin,
      source: sourceText(key, origin, loaded.file),
    };
  });
}

function sourceText(key: string, origin: ConfigurationOrigin, file: string | undefined): string {
  const setting = SETTINGS.find(({ path }) => formatPath(path) === key);
  switch (origin) {
    case 'default':
      return 'default';
    case 'file':
      return file ?? 'file';
    case 'environment':
      return setting?.variable ?? 'environment';
    case 'flag':
      return setting === undefined ? 'flag' : flagName(setting.flag);
  }
}

/** Any header may carry a credential, so all of them are masked; of addresses, the password and secret parameters. */
function masked(path: KeyPath, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (path[0] === 'providers' && path[2] === 'headers') return MASK;
  return value.includes('://') ? maskedUrl(value) : value;
}

function maskedUrl(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#:@]*):[^/?#]*@/i, `$1:${MASK}@`)
    .replace(/([?&][^=&#]*(?:key|token|secret|pass|auth|sig)[^=&#]*=)[^&#]*/gi, `$1${MASK}`);
}
