/**
 * Finds and reads the configuration file. Owns where it may lie and what a syntax error says; the values are
 * checked by the loader.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { ConfigurationError } from './configuration-error.js';
import { isRecord, type KeyPath } from './configuration-path.js';

export const CONFIGURATION_FILE_NAME = 'turnkeeper.config.yaml';

export interface ConfigurationFile {
  readonly file: string;
  readonly values: Record<string, unknown>;
  /** The line, from 1, of the deepest key of the path that the file has. */
  lineOf(path: KeyPath): number | undefined;
}

/** The file in a home. A file that merely lies in the working folder is never read: a clone must not configure a server. */
export function configurationFileIn(home: string): string {
  return join(home, CONFIGURATION_FILE_NAME);
}

/**
 * Reads one file.
 *
 * @param named How the file was named (`--config`, `TURNKEEPER_CONFIG`), or undefined where it need not exist.
 * @returns undefined where it need not exist and does not.
 * @throws ConfigurationError `CONFIGURATION_FILE_UNREADABLE`, `CONFIGURATION_SYNTAX`.
 */
export function readConfigurationFile(
  file: string,
  named: string | undefined,
): ConfigurationFile | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (named === undefined && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? String(error)})`;
    const remedy =
      named === undefined
        ? 'Make it readable, or move it away.'
        : `Create it, or set ${named} to another file.`;
    throw new ConfigurationError('CONFIGURATION_FILE_UNREADABLE', [
      { source: named ?? file, path: '', message: `the file ${file} ${reason}. ${remedy}` },
    ]);
  }
  return parseConfiguration(file, text);
}

/** @throws ConfigurationError `CONFIGURATION_SYNTAX`. */
export function parseConfiguration(file: string, text: string): ConfigurationFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new ConfigurationError(
      'CONFIGURATION_SYNTAX',
      document.errors.map((error) => ({
        source: `${file}:${String(lines.linePos(error.pos[0]).line)}`,
        path: '',
        message: `this is not valid YAML: ${error.message}. Correct the line.`,
      })),
    );
  }
  const values: unknown = document.toJS();
  if (values !== null && values !== undefined && !isRecord(values)) {
    throw new ConfigurationError('CONFIGURATION_SYNTAX', [
      {
        source: file,
        path: '',
        message: 'the file must hold keys and values, such as "server: { port: 8787 }".',
      },
    ]);
  }
  return {
    file,
    // A section whose keys are all commented out reads as null, and means the defaults.
    values: Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== null)),
    lineOf: (path) => {
      for (let length = path.length; length > 0; length -= 1) {
        const node = document.getIn(path.slice(0, length), true);
        const offset = rangeStart(node);
        if (offset !== undefined) return lines.linePos(offset).line;
      }
      return undefined;
    },
  };
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined;
  return Array.isArray(node.range) && typeof node.range[0] === 'number' ? node.range[0] : undefined;
}
