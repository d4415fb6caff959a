/**
 * Brings the configuration together: the file, the environment, the flags; a later one wins. Owns the order, the
 * origin of each value and the messages about wrong ones. The schema and its defaults are `contract/configuration.ts`.
 */
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { configurationSchema, type Configuration } from '../../contract/configuration.js';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.js';
import { configurationFileIn, readConfigurationFile, type ConfigurationFile } from './configuration-file.js';
import { formatPath, leafPaths, valueAt, withValueAt, type KeyPath } from './configuration-path.js';
import { nearestNameHint } from './nearest-name.js';
import { knownKeys } from './schema-keys.js';
import { absoluteFolder, flagName, SETTINGS, settingValue, type ConfigurationFlags } from './settings.js';

export type ConfigurationOrigin = 'default' | 'file' | 'environment' | 'flag';

export interface ConfigurationSources {
  readonly flags?: ConfigurationFlags;
  /** Default: `process.env`. An empty variable counts as absent. */
  readonly env?: NodeJS.ProcessEnv;
  /** What `~` stands for; default: HOME, else the user's home folder. */
  readonly userHome?: string;
  /** What relative paths in variables and flags count from; default: the working folder. */
  readonly workingFolder?: string;
}

export interface LoadedConfiguration {
  /** Checked; `home`, `server.workspaceRoots` and `extensions` are absolute. */
  readonly configuration: Configuration;
  /** Where each value comes from, by its path (`server.port`). Lists and empty objects count as one value. */
  readonly origins: Readonly<Record<string, ConfigurationOrigin>>;
  /** The file that was read; absent where there is none. */
  readonly file?: string;
}

interface Given {
  readonly path: readonly string[];
  readonly origin: 'environment' | 'flag';
  /** `TURNKEEPER_PORT` or `--port`. */
  readonly name: string;
  readonly value: unknown;
}

/**
 * Loads the one configuration.
 *
 * @throws ConfigurationError `CONFIGURATION_FILE_UNREADABLE`, `CONFIGURATION_SYNTAX`, `CONFIGURATION_INVALID`;
 *   its message names file and line, variable or flag, the key, what is wrong and what to do.
 */
export function loadConfiguration(sources: ConfigurationSources = {}): LoadedConfiguration {
  const env = sources.env ?? process.env;
  const userHome = sources.userHome ?? (present(env.HOME) || homedir());
  const workingFolder = sources.workingFolder ?? process.cwd();
  const folder = (path: string) => absoluteFolder(path, userHome, workingFolder);

  const given = givenSettings(env, sources.flags ?? {}, folder);
  const file = findFile(env, sources.flags ?? {}, folder, given);
  const merged = given.reduce<unknown>(
    (values, { path, value }) => withValueAt(values, path, value),
    file?.values ?? {},
  );

  const parsed = configurationSchema.safeParse(merged);
  const sourceOf = (path: KeyPath) => sourceName(path, given, file);
  if (!parsed.success) {
    throw new ConfigurationError(
      'CONFIGURATION_INVALID',
      parsed.error.issues.flatMap((issue) => problemsOf(issue, sourceOf)),
    );
  }
  const configuration = withAbsolutePaths(
    parsed.data,
    userHome,
    file === undefined ? workingFolder : dirname(file.file),
  );
  checkEngineAddress(configuration, sourceOf(['engine', 'address']));

  return {
    configuration,
    origins: Object.fromEntries(
      leafPaths(configuration).map((path) => [formatPath(path), originOf(path, given, file)]),
    ),
    ...(file === undefined ? {} : { file: file.file }),
  };
}

function present(text: string | undefined): string {
  return text?.trim() ?? '';
}

function givenSettings(
  env: NodeJS.ProcessEnv,
  flags: ConfigurationFlags,
  folder: (path: string) => string,
): readonly Given[] {
  const value = (kind: (typeof SETTINGS)[number]['kind'], text: string | number) =>
    kind === 'folder' ? folder(String(text)) : settingValue(kind, text);
  const fromEnvironment = SETTINGS.flatMap(({ path, variable, kind }): Given[] => {
    const text = present(env[variable]);
    return text === '' ? [] : [{ path, origin: 'environment', name: variable, value: value(kind, text) }];
  });
  const fromFlags = SETTINGS.flatMap(({ path, flag, kind }): Given[] => {
    const text = flags[flag];
    return text === undefined
      ? []
      : [{ path, origin: 'flag', name: flagName(flag), value: value(kind, text) }];
  });
  return [...fromEnvironment, ...fromFlags];
}

function findFile(
  env: NodeJS.ProcessEnv,
  flags: ConfigurationFlags,
  folder: (path: string) => string,
  given: readonly Given[],
): ConfigurationFile | undefined {
  if (flags.config !== undefined) return readConfigurationFile(folder(flags.config), '--config');
  const named = present(env.TURNKEEPER_CONFIG);
  if (named !== '') return readConfigurationFile(folder(named), 'TURNKEEPER_CONFIG');
  const home = given.findLast(({ path }) => formatPath(path) === 'home')?.value;
  const folderOfHome = typeof home === 'string' ? home : folder(configurationSchema.parse({}).home);
  return readConfigurationFile(configurationFileIn(folderOfHome), undefined);
}

function originOf(
  path: KeyPath,
  given: readonly Given[],
  file: ConfigurationFile | undefined,
): ConfigurationOrigin {
  const key = formatPath(path);
  const setting = given.findLast((candidate) => formatPath(candidate.path) === key);
  if (setting !== undefined) return setting.origin;
  return file !== undefined && valueAt(file.values, path) !== undefined ? 'file' : 'default';
}

function sourceName(path: KeyPath, given: readonly Given[], file: ConfigurationFile | undefined): string {
  const key = formatPath(path);
  const setting = given.findLast((candidate) => formatPath(candidate.path) === key);
  if (setting !== undefined)
    return setting.origin === 'flag' ? `flag ${setting.name}` : `variable ${setting.name}`;
  if (file === undefined) return 'default';
  const line = file.lineOf(path);
  return line === undefined ? file.file : `${file.file}:${String(line)}`;
}

function problemsOf(
  issue: z.core.$ZodIssue,
  sourceOf: (path: KeyPath) => string,
): readonly ConfigurationProblem[] {
  if (issue.code !== 'unrecognized_keys') {
    const reason = issue.message.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
    return [
      {
        source: sourceOf(issue.path),
        path: formatPath(issue.path),
        message: `is not valid: ${reason}. Correct it.`,
      },
    ];
  }
  const known = knownKeys(configurationSchema, issue.path);
  return issue.keys.map((key) => ({
    source: sourceOf([...issue.path, key]),
    path: formatPath([...issue.path, key]),
    message: `is not a known key; ${nearestNameHint(key, known)}`,
  }));
}

function withAbsolutePaths(configuration: Configuration, userHome: string, base: string): Configuration {
  const absolute = (path: string) => absoluteFolder(path, userHome, base);
  return {
    ...configuration,
    home: resolve(absolute(configuration.home)),
    server: {
      ...configuration.server,
      workspaceRoots: configuration.server.workspaceRoots?.map(absolute) ?? null,
    },
    extensions: configuration.extensions.map(absolute),
  };
}

/** True for addresses that only this machine can reach. */
export function isLoopbackHost(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return bare === 'localhost' || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare);
}

function checkEngineAddress({ engine }: Configuration, source: string): void {
  if (engine.address === null || /^[^\s/@]+:\d{1,5}$/.test(engine.address)) return;
  throw new ConfigurationError('CONFIGURATION_INVALID', [
    {
      source,
      path: 'engine.address',
      message: 'must be host:port of a Temporal server, such as temporal.internal:7233, without a scheme.',
    },
  ]);
}
