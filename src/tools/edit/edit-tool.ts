/** The tool `edit`: literal replacement in a file that was read. */
import { z } from 'zod';
import { diffPreview } from '../diff-preview.js';
import { showPath } from '../file-errors.js';
import { readWholeFile, requireObserved, type WholeFile } from '../observed-files.js';
import { defineTool, ToolError } from '../tool.js';
import { pathParameter, scopeOf } from '../tool-paths.js';
import { type Replacement, unifiedDiff } from '../unified-diff.js';

const MAX_DIFF_LINES = 200;

const parameters = z.strictObject({
  file_path: pathParameter('The file: relative to the workspace or absolute.'),
  old_string: z.string().min(1).describe('The text to replace, exactly as it stands in the file.'),
  new_string: z.string().describe('The text to put in its place.'),
  replace_all: z
    .boolean()
    .optional()
    .describe('Replace every occurrence. Without it there must be exactly one.'),
});
type EditArguments = z.infer<typeof parameters>;

export const editTool = defineTool({
  name: 'edit',
  description:
    'Replaces a text in a file, literally. The file must have been read in this session and be unchanged since. ' +
    'old_string must occur exactly once, so give enough of what stands around it, or set replace_all. Leave out the ' +
    'line numbers that read shows.',
  parameters,
  effect: 'effect',
  permission: 'write',
  pathArguments: ['file_path'],
  concurrency: () => 'exclusive',
  timeoutMs: () => 30_000,
  preview: async (args, context) => {
    const { file_path: path } = args;
    const text = decodeText(await readWholeFile(path, context), path);
    return diffPreview(path, text, findReplacements(text, args));
  },
  execute: async (args, context) => {
    const { file_path: path } = args;
    if (args.old_string === args.new_string) {
      throw new ToolError(
        'INVALID_ARGS',
        'old_string and new_string are the same, so there is nothing to change.',
      );
    }
    const file = await readWholeFile(path, context);
    const expectedVersion = requireObserved(file, path, context);
    const text = decodeText(file, path);
    const replacements = findReplacements(text, args);
    const changed = applyReplacements(text, replacements);
    const written = await context.execution.writeFile({
      scope: scopeOf(context),
      path,
      content: Buffer.from(changed, 'utf8'),
      expectedVersion,
      idempotencyKey: context.idempotencyKey,
    });
    const count = replacements.length === 1 ? '1 replacement' : `${String(replacements.length)} replacements`;
    return {
      content: `Edited ${showPath(path)}, ${count}:\n${unifiedDiff(text, replacements, MAX_DIFF_LINES)}`,
      meta: { observed: [{ path: written.path, version: written.version }] },
    };
  },
});

function decodeText(file: WholeFile, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file.content);
  } catch (error) {
    const message = `${showPath(path)} is not UTF-8 text, so edit would damage it. Change it with a shell command.`;
    throw new ToolError('TOOL_ERROR', message, { cause: error });
  }
}

function findReplacements(text: string, args: EditArguments): Replacement[] {
  const { file_path: path, replace_all: replaceAll } = args;
  let { old_string: old, new_string: replacement } = args;
  if (!text.includes(old) && usesCrlf(text)) {
    // read shows lines without their ends, so a model writes \n for them.
    old = toCrlf(old);
    replacement = toCrlf(replacement);
  }
  const found: Replacement[] = [];
  for (let at = text.indexOf(old); at !== -1; at = text.indexOf(old, at + old.length)) {
    found.push({ start: at, end: at + old.length, text: replacement });
  }
  if (found.length === 0) {
    throw new ToolError(
      'TOOL_ERROR',
      `old_string does not occur in ${showPath(path)}. It must be exactly what stands there, spaces and line ends included; read the place again.`,
    );
  }
  if (found.length > 1 && replaceAll !== true) {
    const lines = found.slice(0, 10).map(({ start }) => text.slice(0, start).split('\n').length);
    const more = found.length > lines.length ? ', …' : '';
    throw new ToolError(
      'TOOL_ERROR',
      `old_string occurs ${String(found.length)} times in ${showPath(path)} (lines ${lines.join(', ')}${more}). ` +
        'Give more of what stands around the one you mean, or set replace_all.',
    );
  }
  return found;
}

function usesCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text);
}

function toCrlf(text: string): string {
  return text.replaceAll(/(?<!\r)\n/g, '\r\n');
}

function applyReplacements(text: string, replacements: readonly Replacement[]): string {
  let changed = '';
  let from = 0;
  for (const { start, end, text: replacement } of replacements) {
    changed += text.slice(from, start) + replacement;
    from = end;
  }
  return changed + text.slice(from);
}
