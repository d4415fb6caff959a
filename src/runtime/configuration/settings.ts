/**
 * The settings that the environment and flags can give: one table of variable, flag and path, and how their text
 * becomes a value.
 */
import { isAbsolute, join, resolve } from 'node:path';

/** What the command line gives; the names are those of the flags (`storeUrl` is `--store-url`). */
export interface ConfigurationFlags {
  readonly config?: string | undefined;
  readonly home?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  readonly storeUrl?: string | undefined;
  readonly temporalAddress?: string | undefined;
  readonly temporalNamespace?: string | undefined;
}

export interface Setting {
  readonly path: readonly string[];
  readonly variable: string;
  readonly flag: Exclude<keyof ConfigurationFlags, 'config'>;
  readonly kind: 'text' | 'number' | 'folder';
}

export const SETTINGS: readonly Setting[] = [
  { path: ['home'], variable: 'TURNKEEPER_HOME', flag: 'home', kind: 'folder' },
  { path: ['server', 'host'], variable: 'TURNKEEPER_HOST', flag: 'host', kind: 'text' },
  { path: ['server', 'port'], variable: 'TURNKEEPER_PORT', flag: 'port', kind: 'number' },
  { path: ['store', 'url'], variable: 'TURNKEEPER_STORE_URL', flag: 'storeUrl', kind: 'text' },
  { path: ['engine', 'address'], variable: 'TEMPORAL_ADDRESS', flag: 'temporalAddress', kind: 'text' },
  { path: ['engine', 'namespace'], variable: 'TEMPORAL_NAMESPACE', flag: 'temporalNamespace', kind: 'text' },
];

/** `--store-url` for `storeUrl`. */
export function flagName(flag: keyof ConfigurationFlags): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A text that is a decimal integer becomes a number; any other stays as it is, for the schema to refuse. */
export function settingValue(kind: Setting['kind'], text: string | number): unknown {
  return kind === 'number' && typeof text === 'string' && /^\d+$/.test(text.trim()) ? Number(text) : text;
}

/** An absolute path: `~` is the user's home, anything else that is relative counts from `base`. */
export function absoluteFolder(path: string, userHome: string, base: string): string {
  if (path === '~') return userHome;
  if (path.startsWith('~/')) return join(userHome, path.slice(2));
  return isAbsolute(path) ? resolve(path) : resolve(base, path);
}
