/**
 * The one error of a wrong configuration. Owns how problems are put into words; finding them is the loader's.
 */

export type ConfigurationErrorCode =
  /** The file is named but cannot be read. */
  | 'CONFIGURATION_FILE_UNREADABLE'
  /** The file is not YAML. */
  | 'CONFIGURATION_SYNTAX'
  /** A value does not fit its key, or a key is not known. */
  | 'CONFIGURATION_INVALID'
  /** The server may not listen on this address. */
  | 'HOST_NOT_ALLOWED'
  /** `store.url` names a store that this version does not have. */
  | 'STORE_NOT_AVAILABLE'
  /** A module of `extensions` cannot be used. */
  | 'EXTENSION_INVALID'
  /** A profile extends or names something that is not there, or extends itself. */
  | 'PROFILE_INVALID';

/** One thing that is wrong. */
export interface ConfigurationProblem {
  /** Where the value comes from, as a person looks for it: `/home/ann/.turnkeeper/turnkeeper.config.yaml:4`. */
  readonly source: string;
  /** The key, as `server.port`; '' where the whole file is meant. */
  readonly path: string;
  /** What is wrong and what to do, as the end of a sentence that begins with the path. */
  readonly message: string;
}

/** The configuration cannot be used. The message lists every problem and holds no value that may be secret. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly code: ConfigurationErrorCode;
  readonly problems: readonly ConfigurationProblem[];

  constructor(code: ConfigurationErrorCode, problems: readonly ConfigurationProblem[]) {
    const lines = problems.map(({ source, path, message }) =>
      path === '' ? `${source}: ${message}` : `${source}: ${path} ${message}`,
    );
    super(
      lines.length === 1
        ? `The configuration is wrong. ${lines.join('')}`
        : `The configuration is wrong in ${String(lines.length)} places:\n${lines.map((line) => `- ${line}`).join('\n')}`,
    );
    this.code = code;
    this.problems = problems;
  }
}
