/** The tool `grep`: lines of the workspace's files that match a regular expression. */
import { z } from 'zod';
import { showPath } from '../file-errors.js';
import { pathMatcher } from '../path-glob.js';
import { defineTool, ToolError } from '../tool.js';
import { pathParameter, scopeOf } from '../tool-paths.js';
import { utf8Head } from '../utf8-cut.js';
import type { TextMatch } from '../execution-provider.js';

const MAX_MATCHES = 250;
const MAX_LINE_BYTES = 2000;
const TIMEOUT_MS = 30_000;

const parameters = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(10_000)
    .refine((pattern) => !pattern.includes('\0'), 'must not hold a NUL character')
    .describe('A regular expression in the syntax of ripgrep; it matches within one line.'),
  path: pathParameter('The folder or file to search. Default: the workspace.').optional(),
  include: z.string().min(1).max(1000).optional().describe('A glob for the files to search, such as *.ts.'),
});

export const grepTool = defineTool({
  name: 'grep',
  description:
    `Searches files for lines that match a regular expression; shows path:line:text, at most ${String(MAX_MATCHES)} ` +
    'matches. Leaves out binary files and what .gitignore ignores.',
  parameters,
  effect: 'read',
  permission: 'read',
  pathArguments: ['path'],
  concurrency: () => 'parallel',
  timeoutMs: () => TIMEOUT_MS + 5000,
  execute: async ({ pattern, path = '.', include }, context) => {
    const lines: string[] = [];
    let more = false;
    const { timedOut, problems } = await context.execution.searchText({
      idempotencyKey: context.idempotencyKey,
      scope: scopeOf(context),
      path,
      pattern,
      timeoutMs: TIMEOUT_MS,
      signal: context.signal,
      accepts: include === undefined ? () => true : includeMatcher(include),
      onMatch: (match) => {
        more = lines.length === MAX_MATCHES;
        if (!more) lines.push(renderMatch(match));
        return !more;
      },
    });
    const notes = [closing(lines.length, more)];
    if (timedOut)
      notes.push(`the search was ended after ${String(TIMEOUT_MS)} ms: give a path or an include`);
    if (problems !== '') notes.push(`not all could be searched: ${problems}`);
    return { content: [...lines, `[${notes.join('; ')}]`].join('\n') };
  },
});

function includeMatcher(include: string): (path: string) => boolean {
  try {
    return pathMatcher(include);
  } catch (error) {
    throw new ToolError('INVALID_ARGS', `include is invalid: ${error instanceof Error ? error.message : ''}`);
  }
}

function renderMatch({ path, line, text }: TextMatch): string {
  return `${showPath(path)}:${line === 0 ? '' : String(line)}:${cutLine(text)}`;
}

function cutLine(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MAX_LINE_BYTES) return text;
  return `${Buffer.from(utf8Head(bytes, MAX_LINE_BYTES)).toString('utf8')}… [line cut at ${String(MAX_LINE_BYTES)} bytes]`;
}

function closing(count: number, more: boolean): string {
  if (more) return `the first ${String(count)} matches; narrow the pattern or the path to see the others`;
  if (count === 0) return 'no match';
  return count === 1 ? '1 match' : `${String(count)} matches`;
}
