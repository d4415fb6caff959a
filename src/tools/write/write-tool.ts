/** The tool `write`: a whole file, new or in the place of one that was read. */
import { z } from 'zod';
import { showPath } from '../file-errors.js';
import { readWholeFile, requireObserved, type WholeFile } from '../observed-files.js';
import { defineTool, type ToolContext, ToolError } from '../tool.js';
import { pathParameter, scopeOf } from '../tool-paths.js';

const parameters = z.strictObject({
  file_path: pathParameter('The file: relative to the workspace or absolute. Missing folders are created.'),
  content: z.string().describe('The whole new content.'),
});

export const writeTool = defineTool({
  name: 'write',
  description:
    'Writes a whole text file. A file that exists must have been read in this session and be unchanged since. ' +
    'To change a part of a file use edit.',
  parameters,
  effect: 'idempotent',
  permission: 'write',
  concurrency: () => 'exclusive',
  timeoutMs: () => 30_000,
  execute: async ({ file_path: path, content }, context) => {
    const bytes = Buffer.from(content, 'utf8');
    const existing = await readExisting(path, context);
    if (existing?.content.equals(bytes) === true) {
      // A repeat after a lost attempt finds its own content; so does a write that changes nothing.
      const { path: real, version } = existing;
      return {
        content: `${showPath(path)} has this content already.`,
        meta: { observed: [{ path: real, version }] },
      };
    }
    const { path: real, version } = await context.execution.writeFile({
      scope: scopeOf(context),
      path,
      content: bytes,
      expectedVersion: existing === undefined ? null : requireObserved(existing, path, context),
      idempotencyKey: context.idempotencyKey,
    });
    const verb = existing === undefined ? 'Created' : 'Replaced';
    return {
      content: `${verb} ${showPath(path)} (${String(bytes.length)} bytes).`,
      meta: { observed: [{ path: real, version }] },
    };
  },
});

async function readExisting(path: string, context: ToolContext): Promise<WholeFile | undefined> {
  try {
    return await readWholeFile(path, context);
  } catch (error) {
    if (error instanceof ToolError && error.code === 'FS_NOT_FOUND') return undefined;
    throw error;
  }
}
