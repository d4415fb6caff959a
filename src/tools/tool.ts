/**
 * What a tool is, and what it is given when it runs.
 *
 * Owns the interfaces between the pipeline and the tools. Which tools there are is in `registry.ts`, how a call runs is
 * in `pipeline.ts`.
 */
import type { z } from 'zod';
import type { InputBlock } from '../contract/content.js';
import type {
  Answer,
  ApprovalPreview,
  Question,
  Todo,
  ToolEffect,
  toolResultMetaSchema,
} from '../contract/events.js';
import type { ToolResultCode } from '../contract/failures.js';
import type { Sha256 } from '../contract/ids.js';
import type { PermissionClass } from '../core/permission.js';
import type { CommandSandbox, ExecutionProvider } from './execution-provider.js';
import type { Awaitable } from './hooks.js';
import type { SessionJobs } from './jobs/session-jobs.js';

/** Whether a call may run beside others or is a barrier between them. */
export type CallMode = 'parallel' | 'exclusive';

export type ToolResultMeta = z.infer<typeof toolResultMetaSchema>;

/** A tool over its arguments `A`, which its schema has checked. */
export interface Tool<A = unknown> {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /** What the model reads about it. */
  readonly description: string;
  /** A strict object schema; the JSON Schema for the model is made from it. */
  readonly parameters: z.ZodType<A>;
  /** `read` may be repeated, `idempotent` is repeated with the same key, `effect` is never repeated. */
  readonly effect: ToolEffect;
  readonly permission: PermissionClass;
  /** A `read` tool that ends within 1 s as a rule, so that it may run as a local activity. */
  readonly quick?: boolean;
  concurrency(args: A): CallMode;
  /**
   * Why this call is asked about whatever the permission mode, the rules and earlier grants say; undefined where it is
   * not. A denial stays a denial.
   */
  escalation?(args: A): string | undefined;
  /** The questions that a person answers before the body runs, which then finds the answers in its context. */
  questions?(args: A): readonly Question[];
  /** What the call would do, for the person who is asked about it. An error leaves the preview out. */
  preview?(args: A, context: ToolContext): Awaitable<ApprovalPreview>;
  /** The arguments that are paths in the workspace: rules and patterns see them in their plain spelling. */
  readonly pathArguments?: readonly string[];
  /** The arguments by which "allow for the session" knows a call again; the others may differ. Default: all. */
  readonly grantArguments?: readonly string[];
  /** How long the body may run, in milliseconds; {@link DEFAULT_TOOL_TIMEOUT_MS} where it is absent. */
  timeoutMs?(args: A): number;
  /**
   * Runs the call. Expected errors are thrown as {@link ToolError}; anything else that is thrown becomes `TOOL_ERROR`.
   * Once `context.signal` is aborted the promise settles soon, with nothing left running.
   */
  execute(args: A, context: ToolContext): Promise<ToolOutput>;
}

export const DEFAULT_TOOL_TIMEOUT_MS = 120_000;

/** What a body may use. A plain object: the pipeline copies it to put its own signal in. */
export interface ToolContext {
  readonly signal: AbortSignal;
  /** `uid/turn.step.index`: the same for each attempt of the call. */
  readonly idempotencyKey: string;
  readonly callId: string;
  /** The session's workspace: absolute, and a real path without symbolic links. */
  readonly workspace: string;
  /** Real paths that no tool reads or writes, unless they hold the workspace: the home folder, `/proc`, `/sys`, `/dev`. */
  readonly protectedPaths: readonly string[];
  readonly execution: ExecutionProvider;
  /** How commands are confined; null: not at all. */
  readonly sandbox: CommandSandbox | null;
  /** The background commands of this session. */
  readonly jobs: SessionJobs;
  /** What a person answered to the tool's questions; empty for a tool that asks none. */
  readonly answers: readonly Answer[];
  /** The version of a file (by its real path) that the latest result of this session observed. */
  readonly observedVersion: (path: string) => string | undefined;
  /** Shows output while the call runs; the result that counts is what `execute` returns. */
  readonly output: (stream: 'stdout' | 'stderr', text: string) => void;
  readonly progress: (progress: { readonly message?: string; readonly fraction?: number }) => void;
  readonly saveBlob: SaveBlob;
  /** The bytes of a blob that this session may read, or undefined where there is none. */
  readonly readBlob: (sha256: Sha256) => Promise<Uint8Array | undefined>;
}

/** Keeps bytes in the blob store and returns their digest. */
export type SaveBlob = (bytes: Uint8Array, mediaType: string) => Promise<Sha256>;

/** The error of a result: `name` is for people, `code` is what errors are routed by. */
export interface ToolFailure {
  readonly name: string;
  readonly code: ToolResultCode;
}

/** What a body returns. A string is one text block. */
export interface ToolOutput {
  readonly content: string | readonly InputBlock[];
  readonly meta?: ToolResultMeta;
  /** The session's new list of things to do, in the place of the one before. */
  readonly todos?: readonly Todo[];
  readonly isError?: boolean;
  readonly error?: ToolFailure;
}

/** An expected error of a tool; it becomes the call's result, with `code` and the message for the model. */
export class ToolError extends Error {
  override readonly name = 'ToolError';

  constructor(
    readonly code: ToolResultCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Types a tool by its schema. */
export function defineTool<A>(tool: Tool<A>): Tool<A> {
  return tool;
}
