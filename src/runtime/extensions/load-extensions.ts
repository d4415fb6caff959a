/**
 * Loads the modules that the configuration names, and gives what they add.
 *
 * Owns the import, the order and the errors. A module runs in the server with all of its rights, so only a path that stands
 * in the operator's configuration file is ever loaded.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { TurnHooks } from '../../activities/turn-hooks.js';
import type { ToolHooks } from '../../tools/hooks.js';
import { type Tool, ToolError } from '../../tools/tool.js';
import { ConfigurationError } from '../configuration/configuration-error.js';
import type { EventObservers } from './event-observers.js';
import { defineHook, defineTool, type ExtensionApi, type HookContribution } from './extension-api.js';
import { collectHooks } from './hook-points.js';
import { readContribution } from './read-contribution.js';

export interface ExtensionOptions {
  /** The file that names the modules, for the words of an error. */
  readonly configurationFile: string | undefined;
  readonly logger: Pick<Logger, 'child'>;
  /** Names that a tool of an extension cannot have: those of the built-in ones. */
  readonly takenToolNames: readonly string[];
}

export interface LoadedExtensions {
  readonly tools: readonly Tool[];
  readonly toolHooks: ToolHooks;
  readonly turnHooks: TurnHooks;
  readonly eventObservers: EventObservers;
}

/** How long a module may take to be loaded and to make its contributions. */
export const EXTENSION_LOAD_TIMEOUT_MS = 30_000;

/**
 * Loads the modules. Tools and hooks are in the order of the paths, and in that of each module's list.
 *
 * @param paths absolute, as `loadConfiguration` gives them.
 * @throws ConfigurationError `EXTENSION_INVALID` with all that is wrong: a file that is not there, a module that throws or
 *   exports something else, a contribution that is none, a name that is taken.
 */
export async function loadExtensions(
  paths: readonly string[],
  { configurationFile, logger, takenToolNames }: ExtensionOptions,
): Promise<LoadedExtensions> {
  const problems: { readonly index: number; readonly text: string }[] = [];
  const tools: Tool[] = [];
  const hooks: HookContribution[] = [];
  const owners = new Map(takenToolNames.map((name) => [toolSlot(name), 'Turnkeeper itself']));

  for (const [index, path] of paths.entries()) {
    const wrong = (text: string) => problems.push({ index, text });
    const exported = await contributionsOf(path, logger);
    if ('problem' in exported) {
      wrong(exported.problem);
      continue;
    }
    for (const [position, value] of exported.contributions.entries()) {
      const place = `${path}, whose contribution ${String(position + 1)}`;
      const read = readContribution(value);
      if (read.kind === 'wrong') {
        read.problems.forEach((problem) => wrong(`names ${place} ${problem}`));
        continue;
      }
      const slot = read.kind === 'tool' ? toolSlot(read.tool.name) : hookSlot(read.hook);
      const owner = owners.get(slot);
      if (owner !== undefined) {
        wrong(`names ${place} is the ${slot}, which ${owner} has already. Rename it.`);
        continue;
      }
      owners.set(slot, path);
      if (read.kind === 'tool') tools.push(read.tool);
      else hooks.push(read.hook);
    }
  }
  if (problems.length > 0) {
    throw new ConfigurationError(
      'EXTENSION_INVALID',
      problems.map(({ index, text }) => ({
        source: configurationFile ?? 'the configuration',
        path: `extensions[${String(index)}]`,
        message: text,
      })),
    );
  }
  return { tools, ...collectHooks(hooks) };
}

function toolSlot(name: string): string {
  return `tool ${JSON.stringify(name)}`;
}

function hookSlot({ point, hook }: HookContribution): string {
  return `hook ${JSON.stringify(hook.name)} of ${point}`;
}

type Exported = { readonly contributions: readonly unknown[] } | { readonly problem: string };

async function contributionsOf(path: string, logger: ExtensionOptions['logger']): Promise<Exported> {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isFile() !== true) {
      const what = stats === undefined ? 'does not exist' : 'is not a file';
      return {
        problem: `names ${path}, which ${what}. Correct the path; it counts from the folder of the configuration file.`,
      };
    }
    return await inTime(exportedBy(path, logger));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // Node.js gives the line of such an error to nobody but the one who runs the file.
    const where = error instanceof SyntaxError ? ` "node --check ${path}" shows the line.` : '';
    return { problem: `names ${path}, which cannot be loaded: ${reason}.${where}` };
  }
}

async function exportedBy(path: string, logger: ExtensionOptions['logger']): Promise<Exported> {
  const module = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  if (!('default' in module)) {
    return { problem: `names ${path}, which has no default export. ${EXPECTED_EXPORT}` };
  }
  const made: unknown =
    typeof module.default === 'function'
      ? await (module.default as (api: ExtensionApi) => unknown)(apiFor(path, logger))
      : module.default;
  return Array.isArray(made)
    ? { contributions: made }
    : { problem: `names ${path}, whose default export gives no list. ${EXPECTED_EXPORT}` };
}

const EXPECTED_EXPORT = 'Export a list of contributions, or a function that returns one.';

function apiFor(path: string, logger: ExtensionOptions['logger']): ExtensionApi {
  return { defineTool, defineHook, ToolError, z, logger: logger.child({ extension: basename(path) }) };
}

async function inTime<T>(loading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`it was not ready within ${String(EXTENSION_LOAD_TIMEOUT_MS)} ms`));
    }, EXTENSION_LOAD_TIMEOUT_MS);
  });
  return Promise.race([loading, late]).finally(() => {
    clearTimeout(timer);
  });
}
