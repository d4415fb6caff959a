/**
 * Where tools act: the seam through which every tool reaches files, programs and shells, so that a tool is the same
 * wherever it runs. `local/` is this host itself.
 */
import type { ObservedFile } from '../contract/events.js';
import type { Sha256 } from '../contract/ids.js';
import type { SaveBlob } from './tool.js';

/**
 * What of the file system a call may touch: the workspace (absolute and real), without the protected paths in it. Paths
 * in requests are absolute or relative to the workspace; after symbolic links they must lie inside, else the request
 * is refused with `OUTSIDE_WORKSPACE`.
 */
export interface PathScope {
  readonly workspace: string;
  readonly protectedPaths: readonly string[];
}

export interface ReadFileRequest {
  readonly scope: PathScope;
  readonly path: string;
  /** A larger file is refused. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The file's bytes in their order. */
  readonly onChunk: (bytes: Uint8Array) => void;
}

/** A file by its real path; `version` differs once it was changed or replaced. */
export interface FileSnapshot extends ObservedFile {
  readonly bytes: number;
}

export interface WriteFileRequest {
  readonly scope: PathScope;
  readonly path: string;
  readonly content: Uint8Array;
  /** The version that the file must still have; null where it must not exist. */
  readonly expectedVersion: string | null;
  /** Names the temporary file, so that a repeat clears what a killed attempt left. */
  readonly idempotencyKey: string;
}

export interface ListFilesRequest {
  readonly scope: PathScope;
  /** The folder to list. */
  readonly path: string;
  /** Marks the process that looks, so that it is found again after its worker. */
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with paths relative to the folder, the newest file first. */
  readonly onPath: (path: string) => void;
}

export interface SearchTextRequest {
  readonly scope: PathScope;
  /** The folder or file to search. */
  readonly path: string;
  /** A regular expression in ripgrep's syntax. */
  readonly pattern: string;
  /** Marks the process that looks, so that it is found again after its worker. */
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Decides by a path (as in `onMatch`) whether its matches count. */
  readonly accepts: (path: string) => boolean;
  /** Called in the order of the paths; false ends the search. */
  readonly onMatch: (match: TextMatch) => boolean;
}

/** A matching line; `path` is relative to the workspace. `line` is 0 and `text` a note where the line is too long. */
export interface TextMatch {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface SearchEnd {
  /** The request's own folder or file, relative to the workspace; '' is the workspace itself. */
  readonly root: string;
  readonly timedOut: boolean;
  /** Places that could not be read, as the program says it; '' where there was none. */
  readonly problems: string;
}

/** What a confined command may do beside reading: a sandbox lets nothing else through. */
export interface CommandSandbox {
  /** Whether it may write in the workspace; anywhere else it may not. */
  readonly writable: boolean;
}

export interface CommandRequest {
  readonly scope: PathScope;
  /** Null runs the command as the worker itself. A provider that cannot confine refuses with `SANDBOX_UNAVAILABLE`. */
  readonly sandbox: CommandSandbox | null;
  readonly command: string;
  /** The folder to run in; the workspace where it is absent. */
  readonly workdir: string | undefined;
  readonly timeoutMs: number;
  /** Marks the command's processes, so that they are found again (`TURNKEEPER_COMMAND`). */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly output: (stream: 'stdout' | 'stderr', text: string) => void;
  /** How much of each stream `output` is given; default 1 MiB. */
  readonly liveBytes?: number;
  /** Keeps the whole of a stream that is more than is shown, or no text; where it is absent that is not kept. */
  readonly saveBlob?: SaveBlob;
}

/** What is kept of a stream: all of it in `head`, or its head and tail, with the whole in a blob where one is saved. */
export interface CapturedStream {
  readonly bytes: number;
  /** Set where the bytes are no text; head and tail are empty then. */
  readonly binary?: string;
  readonly head: string;
  readonly tail: string;
  /** Bytes between head and tail. */
  readonly omittedBytes: number;
  readonly blob?: { readonly sha256: Sha256; readonly bytes: number };
}

export type CommandEnding =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed-out' };

export interface CommandResult {
  readonly ending: CommandEnding;
  readonly stdout: CapturedStream;
  readonly stderr: CapturedStream;
  /** How many processes outlived the command itself and were ended with it. */
  readonly leftovers: number;
}

/** Errors are `ToolError`s; an aborted signal is thrown as its reason, after all that ran is dead. */
export interface ExecutionProvider {
  readonly kind: 'local' | 'sandbox';
  readFile(request: ReadFileRequest): Promise<FileSnapshot>;
  /** Creates missing folders, replaces the file atomically and keeps its mode. */
  writeFile(request: WriteFileRequest): Promise<FileSnapshot>;
  listFiles(request: ListFilesRequest): Promise<SearchEnd>;
  searchText(request: SearchTextRequest): Promise<SearchEnd>;
  runCommand(request: CommandRequest): Promise<CommandResult>;
}
