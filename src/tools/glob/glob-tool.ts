/** The tool `glob`: files of the workspace by their path, the newest first. */
import { relative, isAbsolute } from 'node:path';
import { z } from 'zod';
import { showPath } from '../file-errors.js';
import { pathMatcher } from '../path-glob.js';
import { defineTool, ToolError } from '../tool.js';
import { pathParameter, scopeOf } from '../tool-paths.js';

const MAX_PATHS = 100;
const TIMEOUT_MS = 30_000;

const parameters = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe('Such as src/**/*.{ts,tsx}. Without a slash it fits names in any folder.'),
  path: pathParameter('The folder to look in. Default: the workspace.').optional(),
});

export const globTool = defineTool({
  name: 'glob',
  description:
    `Lists files whose path fits a pattern, the newest first, at most ${String(MAX_PATHS)}. ` +
    'Leaves out what .gitignore ignores. Use it to find files by name, and grep to find them by content.',
  parameters,
  effect: 'read',
  permission: 'read',
  pathArguments: ['path'],
  quick: true,
  concurrency: () => 'parallel',
  timeoutMs: () => TIMEOUT_MS + 5000,
  execute: async ({ pattern, path = '.' }, context) => {
    const fits = matcherOf(withinWorkspace(pattern, context.workspace));
    const shown: string[] = [];
    let count = 0;
    const { root, timedOut } = await context.execution.listFiles({
      idempotencyKey: context.idempotencyKey,
      scope: scopeOf(context),
      path,
      timeoutMs: TIMEOUT_MS,
      signal: context.signal,
      onPath: (found) => {
        if (!fits(found)) return;
        count += 1;
        if (shown.length < MAX_PATHS) shown.push(found);
      },
    });
    const lines = shown.map((found) => showPath(root === '' ? found : `${root}/${found}`));
    return { content: [...lines, `[${closing(shown.length, count, timedOut)}]`].join('\n') };
  },
});

/** An absolute pattern in the workspace, as it is from there. */
function withinWorkspace(pattern: string, workspace: string): string {
  if (!isAbsolute(pattern)) {
    if (!pattern.split('/').includes('..')) return pattern;
    throw new ToolError(
      'OUTSIDE_WORKSPACE',
      'A pattern cannot lead upwards with "..": give the folder as path.',
    );
  }
  const inside = pattern.startsWith(`${workspace}/`) ? relative(workspace, pattern) : undefined;
  if (inside !== undefined && !inside.startsWith('..')) return inside;
  throw new ToolError('OUTSIDE_WORKSPACE', `The pattern is outside of the workspace ${showPath(workspace)}.`);
}

function matcherOf(pattern: string): (path: string) => boolean {
  try {
    return pathMatcher(pattern);
  } catch (error) {
    throw new ToolError(
      'INVALID_ARGS',
      `The pattern is invalid: ${error instanceof Error ? error.message : ''}`,
    );
  }
}

function closing(shown: number, count: number, timedOut: boolean): string {
  const late = timedOut ? `; not all was looked at within ${String(TIMEOUT_MS)} ms: give a path` : '';
  if (count === 0) return `no file fits${late}`;
  const files = count === 1 ? '1 file' : `${String(count)} files`;
  if (shown === count) return `${files}, the newest first${late}`;
  return `the ${String(shown)} newest of ${files}; narrow the pattern to see the others${late}`;
}
