/**
 * Lists files and searches text on this host with ripgrep, inside a scope.
 *
 * The .gitignore files from the workspace down are honoured, whether it is a git repository or not; those above the
 * workspace are not, since a home folder may ignore everything in it.
 */
import { relative } from 'node:path';
import { z } from 'zod';
import type {
  ListFilesRequest,
  PathScope,
  SearchEnd,
  SearchTextRequest,
  TextMatch,
} from '../execution-provider.js';
import { isWithin, openChecked, pathForChild, resolveExisting } from '../workspace-paths.js';
import { ignoredAbove } from './ignored-above.js';
import { runRipgrep } from './ripgrep.js';

const MAX_PATH_RECORD_BYTES = 16 * 1024;
const MAX_MATCH_RECORD_BYTES = 1024 * 1024;
const WALK = ['--hidden', '--no-require-git', '--no-ignore-parent', '--no-ignore-global'];

/** Lists the files of a folder, the newest first. @throws ToolError, or the signal's reason */
export async function listLocalFiles(request: ListFilesRequest): Promise<SearchEnd> {
  const { scope, path, idempotencyKey, timeoutMs, signal, onPath } = request;
  const real = await resolveExisting(path, scope);
  const folder = await openChecked(real, { scope, asked: path, wanted: 'folder' });
  try {
    const isIgnored = await ignoredAbove(scope.workspace, real);
    const end = await runRipgrep({
      args: ['--files', '--null', '--sortr', 'modified', ...WALK, ...closedGlobs(scope, real), './'],
      cwd: pathForChild(folder),
      separator: 0,
      maxRecordBytes: MAX_PATH_RECORD_BYTES,
      idempotencyKey,
      timeoutMs,
      signal,
      onRecord: (record) => {
        const found = withoutDot(record.toString('utf8'));
        if (!isIgnored(found)) onPath(found);
        return true;
      },
    });
    return { ...end, root: relative(scope.workspace, real) };
  } finally {
    await folder.handle.close();
  }
}

/** Searches the lines of a folder's files, or of one file. @throws ToolError, or the signal's reason */
export async function searchLocalText(request: SearchTextRequest): Promise<SearchEnd> {
  const { scope, path, pattern, idempotencyKey, timeoutMs, signal, accepts, onMatch } = request;
  const real = await resolveExisting(path, scope);
  const root = relative(scope.workspace, real);
  const opened = await openChecked(real, { scope, asked: path, wanted: 'file or folder' });
  try {
    const isFolder = opened.stat.isDirectory();
    const isIgnored = isFolder ? await ignoredAbove(scope.workspace, real) : () => false;
    const pathOf = (found: string) => {
      if (!isFolder) return root;
      return root === '' ? found : `${root}/${found}`;
    };
    const end = await runRipgrep({
      args: [
        ...['--json', '--sort', 'path', ...WALK, ...closedGlobs(scope, real)],
        ...[`--regexp=${pattern}`, isFolder ? './' : '-'],
      ],
      // One file is given as an open descriptor: it cannot be swapped for another any more.
      ...(isFolder ? { cwd: pathForChild(opened) } : { cwd: scope.workspace, input: opened.handle.fd }),
      separator: 10,
      maxRecordBytes: MAX_MATCH_RECORD_BYTES,
      idempotencyKey,
      timeoutMs,
      signal,
      onRecord: (record) => {
        const match = parseMatch(record);
        if (match === undefined || (isFolder && isIgnored(match.path))) return true;
        const found = { ...match, path: pathOf(match.path) };
        return accepts(found.path) ? onMatch(found) : true;
      },
    });
    return { ...end, root };
  } finally {
    await opened.handle.close();
  }
}

/** Globs that close the git folder and the protected paths inside of the searched folder. */
function closedGlobs(scope: PathScope, folder: string): string[] {
  const closed = scope.protectedPaths
    .filter((path) => isWithin(folder, path) && path !== folder)
    .map((path) => `--glob=!/${relative(folder, path).replace(/[\\*?[\]{}!]/g, '\\$&')}`);
  return ['--glob=!.git', ...closed];
}

const textOrBytes = z.union([z.object({ text: z.string() }), z.object({ bytes: z.base64() })]);
const matchRecord = z.object({
  type: z.literal('match'),
  data: z.object({ path: textOrBytes, lines: textOrBytes, line_number: z.number() }),
});

/** A match out of ripgrep's JSON; undefined for its other records. */
function parseMatch(record: Buffer): TextMatch | undefined {
  if (record.length >= MAX_MATCH_RECORD_BYTES) return cutMatch(record);
  const parsed = matchRecord.safeParse(JSON.parse(record.toString('utf8')));
  if (!parsed.success) return undefined;
  const { path, lines, line_number: line } = parsed.data.data;
  return { path: withoutDot(textOf(path)), line, text: textOf(lines).replace(/\r?\n$/, '') };
}

/** A record that was cut because its line is huge: its path still stands at the beginning. */
function cutMatch(record: Buffer): TextMatch | undefined {
  const start = record.subarray(0, MAX_PATH_RECORD_BYTES).toString('utf8');
  const path = /^\{"type":"match","data":\{"path":\{"text":("(?:[^"\\]|\\.)*")\}/.exec(start)?.[1];
  if (path === undefined) return undefined;
  return { path: withoutDot(String(JSON.parse(path))), line: 0, text: '[the line is too long to show]' };
}

function textOf(value: z.infer<typeof textOrBytes>): string {
  return 'text' in value ? value.text : Buffer.from(value.bytes, 'base64').toString('utf8');
}

function withoutDot(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path;
}
