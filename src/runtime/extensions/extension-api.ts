/**
 * What an extension is written with: the package's public entry.
 *
 * Owns the shapes that an extension hands over. What is typed here is checked when the module is loaded
 * (`load-extensions.ts`), since a plain JavaScript file may hand over anything.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type {
  PreStepHook,
  RequestErrorHook,
  RequestHook,
  StreamHook,
  TurnStoppingHook,
} from '../../activities/turn-hooks.js';
import type {
  Awaitable,
  ExecuteHook,
  GuardHook,
  NamedHook,
  PostExecuteHook,
  PreExecuteHook,
  ResultObserver,
} from '../../tools/hooks.js';
import { type CallMode, type Tool, type ToolContext, ToolError, type ToolOutput } from '../../tools/tool.js';
import type { EventObserver } from './event-observers.js';

export { z, ToolError };
export type { ModelChunk } from '../../contract/chunks.js';
export type { InputBlock } from '../../contract/content.js';
export type { SessionEvent } from '../../contract/events.js';
export type {
  ClaimedEntry,
  HookSession,
  PreStepDecision,
  PreStepInput,
  RequestDecision,
  RequestErrorDecision,
  RequestErrorInput,
  RequestInput,
  StreamInput,
  TurnStoppingDecision,
  TurnStoppingInput,
} from '../../activities/turn-hooks.js';
export type {
  DraftResult,
  GuardDecision,
  HookCall,
  NamedHook,
  PostExecuteDecision,
  PreExecuteDecision,
} from '../../tools/hooks.js';
export type { ToolOutcome } from '../../tools/pipeline.js';
export type { ToolContext, ToolOutput } from '../../tools/tool.js';

/** The hook points, each with the function that is run there. */
export interface HookPoints {
  'agent/pre-step': PreStepHook;
  'agent/request': RequestHook;
  'llm/stream': StreamHook;
  'agent/request-error': RequestErrorHook;
  'tools/pre-execute': PreExecuteHook;
  'tools/guard': GuardHook;
  'tools/execute': ExecuteHook;
  'tools/post-execute': PostExecuteHook;
  'tools/result': ResultObserver;
  'agent/turn-stopping': TurnStoppingHook;
  'session/event': EventObserver;
}
export type HookPoint = keyof HookPoints;

type Args<S extends z.ZodObject> = z.output<S>;

/** A tool of an extension. What it does not say has the default that the built-in tools have. */
export interface ExtensionTool<S extends z.ZodObject = z.ZodObject> extends Pick<
  Tool<Args<S>>,
  | 'name'
  | 'description'
  | 'effect'
  | 'permission'
  | 'quick'
  | 'escalation'
  | 'questions'
  | 'preview'
  | 'grantArguments'
> {
  /** What the model sends, as an object schema of zod 4 without asynchronous checks. */
  readonly parameters: S;
  /** Default: `parallel` for a tool whose effect is `read`, `exclusive` for any other. */
  readonly concurrency?: CallMode | ((args: Args<S>) => CallMode);
  /** How long the body may run, in milliseconds. Default: two minutes. */
  readonly timeoutMs?: number | ((args: Args<S>) => number);
  /** As in {@link Tool}; it may also return its output at once. */
  execute(args: Args<S>, context: ToolContext): Awaitable<ToolOutput>;
}

export interface ToolContribution {
  readonly kind: 'tool';
  readonly tool: ExtensionTool;
}

export type HookContribution = {
  readonly [P in HookPoint]: {
    readonly kind: 'hook';
    readonly point: P;
    readonly hook: NamedHook<HookPoints[P]>;
  };
}[HookPoint];

/** One tool or hook, as {@link defineTool} and {@link defineHook} make it. */
export type Contribution = ToolContribution | HookContribution;

/** What a module is handed, so that a plain file needs to import nothing. */
export interface ExtensionApi {
  readonly defineTool: typeof defineTool;
  readonly defineHook: typeof defineHook;
  /** An expected error of a tool; it is thrown from `execute`. */
  readonly ToolError: typeof ToolError;
  readonly z: typeof z;
  /** The server's log; each line names the extension. */
  readonly logger: ExtensionLogger;
}

export type ExtensionLogger = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** The default export of an extension: its contributions, or a function that makes them when the server starts. */
export type Extension = readonly Contribution[] | ((api: ExtensionApi) => Awaitable<readonly Contribution[]>);

/** A tool, its arguments typed by its schema. */
export function defineTool<S extends z.ZodObject>(tool: ExtensionTool<S>): ToolContribution {
  return { kind: 'tool', tool: tool };
}

/** A hook, its function typed by its point. */
export function defineHook<P extends HookPoint>(
  point: P,
  hook: NamedHook<HookPoints[P]>,
): Extract<HookContribution, { point: P }> {
  return { kind: 'hook', point, hook } as unknown as Extract<HookContribution, { point: P }>;
}
