/**
 * Modules of a test on disk. They lie in a `node_modules` folder, whose files the test runner leaves to the import of
 * Node.js itself, as the server uses it.
 */
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ModuleFolder {
  /** Writes a module and returns its path. */
  write(name: string, text: string): string;
  path(name: string): string;
  /** Gives the modules a zod of their own, in the place of Turnkeeper's. */
  installZod(): void;
  remove(): void;
}

export function makeModuleFolder(): ModuleFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-extensions-')));
  const folder = join(root, 'node_modules', 'operator');
  mkdirSync(folder, { recursive: true });
  const path = (name: string) => join(folder, name);
  return {
    path,
    write: (name, text) => {
      writeFileSync(path(name), text);
      return path(name);
    },
    installZod: () => {
      const installed = fileURLToPath(new URL('.', import.meta.resolve('zod')));
      cpSync(installed, join(root, 'node_modules', 'zod'), {
        recursive: true,
        filter: (source) => !/\.(ts|cts|mts|md)$/.test(source),
      });
    },
    remove: () => {
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** A module whose function returns the list of these expressions. */
export const moduleOf = (...contributions: string[]) =>
  `export default ({ defineTool, defineHook, z }) => [${contributions.join(', ')}];`;
/** The expression of a tool `lookup` with these changes. */
export const tool = (changes = '') => `defineTool({
  name: 'lookup', description: 'Looks up.', parameters: z.strictObject({ word: z.string().describe('A word.') }),
  effect: 'read', permission: 'network', execute: ({ word }) => ({ content: word }), ${changes} })`;
