/** The tool `read`: lines of a text file in the workspace, or of a blob that a result named. */
import { z } from 'zod';
import { sha256Schema } from '../../contract/ids.js';
import { showPath } from '../file-errors.js';
import { binaryMediaType, looksBinary } from '../media-type.js';
import { MAX_RESULT_BYTES } from '../result-bounds.js';
import { defineTool, type ToolContext, ToolError, type ToolOutput } from '../tool.js';
import { pathParameter, scopeOf } from '../tool-paths.js';
import { type LineSelection, LineWindow } from './line-window.js';

const DEFAULT_LINES = 2000;
const LINE_CHARACTERS = 2000;
const CLOSING_LINE_BYTES = 256;
const MAX_FILE_BYTES = 256 * 1024 * 1024;
const BLOB_PREFIX = 'blob:';

const parameters = z.strictObject({
  file_path: pathParameter(
    'The file: relative to the workspace or absolute, or blob:<sha256> as a result names it.',
  ),
  offset: z.number().int().min(1).optional().describe('The first line to show, from 1.'),
  limit: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe(`The most lines to show. Default ${String(DEFAULT_LINES)}.`),
});
type ReadArguments = z.infer<typeof parameters>;

export const readTool = defineTool({
  name: 'read',
  description:
    'Shows lines of a text file, each with its line number and a tab in front that are not part of the file. Shows at ' +
    `most ${String(MAX_RESULT_BYTES / 1024)} KiB at once and cuts lines at ${String(LINE_CHARACTERS)} characters; the ` +
    'last line of the result says how much there is and how to go on.',
  parameters,
  effect: 'read',
  permission: 'read',
  pathArguments: ['file_path'],
  quick: true,
  concurrency: () => 'parallel',
  timeoutMs: () => 30_000,
  execute: (args, context) =>
    args.file_path.startsWith(BLOB_PREFIX) ? readBlob(args, context) : readFile(args, context),
});

async function readFile(args: ReadArguments, context: ToolContext): Promise<ToolOutput> {
  const lines = new TextLines(args);
  const { path, version } = await context.execution.readFile({
    scope: scopeOf(context),
    path: args.file_path,
    maxBytes: MAX_FILE_BYTES,
    signal: context.signal,
    onChunk: (bytes) => {
      lines.add(bytes);
    },
  });
  return { content: lines.render(), meta: { observed: [{ path, version }] } };
}

async function readBlob(args: ReadArguments, context: ToolContext): Promise<ToolOutput> {
  const digest = sha256Schema.safeParse(args.file_path.slice(BLOB_PREFIX.length));
  const bytes = digest.success ? await context.readBlob(digest.data) : undefined;
  if (bytes === undefined) {
    throw new ToolError('FS_NOT_FOUND', `There is no ${showPath(args.file_path)} in this session.`);
  }
  const lines = new TextLines(args);
  lines.add(bytes);
  return { content: lines.render() };
}

/** Lines for a result; refuses bytes that are no text. */
class TextLines {
  readonly #args: ReadArguments;
  readonly #window: LineWindow;
  #isFirst = true;

  constructor(args: ReadArguments) {
    this.#args = args;
    this.#window = new LineWindow({
      offset: args.offset ?? 1,
      limit: args.limit ?? DEFAULT_LINES,
      lineCharacters: LINE_CHARACTERS,
      bytes: MAX_RESULT_BYTES - CLOSING_LINE_BYTES,
    });
  }

  add(bytes: Uint8Array): void {
    if (this.#isFirst && looksBinary(bytes)) {
      const name = showPath(this.#args.file_path);
      throw new ToolError(
        'TOOL_ERROR',
        `${name} is not text (${binaryMediaType(bytes)}), so read cannot show it.`,
      );
    }
    this.#isFirst = false;
    this.#window.add(bytes);
  }

  render(): string {
    const selection = this.#window.end();
    return `${selection.text}[${closing(selection, this.#args.offset ?? 1)}]`;
  }
}

function closing({ lastLine, totalLines }: LineSelection, offset: number): string {
  const total = `${String(totalLines)} ${totalLines === 1 ? 'line' : 'lines'}`;
  if (totalLines === 0) return 'the file is empty';
  if (lastLine === 0) return `there is no line ${String(offset)}: the file has ${total}`;
  if (offset === 1 && lastLine === totalLines) return `all of the file: ${total}`;
  const shown = `lines ${String(offset)} to ${String(lastLine)} of ${String(totalLines)}`;
  return lastLine === totalLines
    ? `${shown}, its end`
    : `${shown}; go on with offset ${String(lastLine + 1)}`;
}
