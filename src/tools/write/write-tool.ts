/** The tool `write`: a whole file, new or in the place of one that was read. */
import { z } from 'zod';
import { diffPreview } from '../diff-preview.js';
import { showPath } from '../file-errors.js';
import { readWholeFile, requireObserved, type WholeFile } from '../observed-files.js';
import { defineTool, type ToolContext, ToolError } from '../tool.js';
import { pathParameter, scopeOf } from '../tool-paths.js';

const parameters = z.strictObject({
  file_path: pathParameter('The file: relative to the workspace or absolute. Missing folders are created.'),
  content: z.string().describe('The whole new content.'),
});

/** Throws where bytes are no text, of which there is no diff. */
const textDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const writeTool = defineTool({
  name: 'write',
  description:
    'Writes a whole text file. A file that exists must have been read in this session and be unchanged since. ' +
    'To change a part of a file use edit.',
  parameters,
  effect: 'idempotent',
  permission: 'write',
  pathArguments: ['file_path'],
  concurrency: () => 'exclusive',
  timeoutMs: () => 30_000,
  preview: async ({ file_path: path, content }, context) => {
    const existing = await readExisting(path, context);
    const before = existing === undefined ? undefined : textDecoder.decode(existing.content);
    if (before === content) return { kind: 'text', text: hasContentAlready(path) };
    return diffPreview(path, before, [{ start: 0, end: before?.length ?? 0, text: content }]);
  },
  execute: async ({ file_path: path, content }, context) => {
    const bytes = Buffer.from(content, 'utf8');
    const existing = await readExisting(path, context);
    if (existing?.content.equals(bytes) === true) {
      // A repeat after a lost attempt finds its own content; so does a write that changes nothing.
      const { path: real, version } = existing;
      return {
        content: hasContentAlready(path),
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

function hasContentAlready(path: string): string {
  return `${showPath(path)} has this content already.`;
}

async function readExisting(path: string, context: ToolContext): Promise<WholeFile | undefined> {
  try {
    return await readWholeFile(path, context);
  } catch (error) {
    if (error instanceof ToolError && error.code === 'FS_NOT_FOUND') return undefined;
    throw error;
  }
}
