/**
 * The hook points around a tool call: typed middleware that a deployment brings (TOOLS, hooks).
 *
 * Owns their types and the deadline. Where each runs is in `pipeline.ts`. A hook that throws or is late fails closed.
 */
import type { InputBlock } from '../contract/content.js';
import type { Todo, ToolEffect } from '../contract/events.js';
import type { ToolOutcome } from './pipeline.js';
import type { ToolFailure, ToolOutput, ToolResultMeta } from './tool.js';

/** The call that a hook looks at. `arguments` are parsed; `{}` where they were invalid. */
export interface HookCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly effect: ToolEffect;
}

export type Awaitable<T> = T | Promise<T>;

/** What a pre-execute hook wants; undefined is no opinion. It can tighten the permission policy, never relax it. */
export type PreExecuteDecision =
  | { readonly kind: 'deny' | 'ask'; readonly reason: string }
  | { readonly kind: 'rewrite'; readonly arguments: Readonly<Record<string, unknown>> }
  | undefined;

/** A guard may only deny; undefined lets the call pass. */
export type GuardDecision = { readonly kind: 'deny'; readonly reason: string } | undefined;

/** What a post-execute hook makes of a result; undefined accepts it. `mask` withholds content and meta. */
export type PostExecuteDecision =
  | {
      readonly kind: 'replace';
      readonly content: string | readonly InputBlock[];
      readonly contexts?: readonly (readonly InputBlock[])[];
    }
  | {
      readonly kind: 'mask';
      readonly reason: string;
      readonly contexts?: readonly (readonly InputBlock[])[];
    }
  | { readonly kind: 'accept'; readonly contexts?: readonly (readonly InputBlock[])[] }
  | undefined;

/** A result on its way to the log, before it is bounded in size. */
export interface DraftResult {
  readonly content: readonly InputBlock[];
  readonly isError: boolean;
  readonly error?: ToolFailure;
  readonly meta?: ToolResultMeta;
  readonly todos?: readonly Todo[];
}

/** A hook with the name by which errors blame it. */
export interface NamedHook<F> {
  readonly name: string;
  readonly run: F;
  /** Its deadline in the place of {@link HOOK_DEADLINE_MS}, at most {@link MAX_HOOK_TIMEOUT_MS}. */
  readonly timeoutMs?: number;
}

export type PreExecuteHook = (call: HookCall) => Awaitable<PreExecuteDecision>;
export type GuardHook = (call: HookCall) => Awaitable<GuardDecision>;
/** `next` runs the body, or the hook inside of this one, and may be called once. */
export type ExecuteHook = (call: HookCall, next: () => Promise<ToolOutput>) => Promise<ToolOutput>;
export type PostExecuteHook = (call: HookCall, result: DraftResult) => Awaitable<PostExecuteDecision>;
export type ResultObserver = (call: HookCall, outcome: ToolOutcome) => Awaitable<void>;

/**
 * Each hook point's hooks in their order. Pre-execute hooks are asked when a call is planned, and again where that plan was
 * lost with its worker; guards are asked then and once more right before the call starts. So both decide and do nothing else.
 */
export interface ToolHooks {
  readonly preExecute: readonly NamedHook<PreExecuteHook>[];
  readonly guards: readonly NamedHook<GuardHook>[];
  /** Around the body; the first is the outermost. */
  readonly execute: readonly NamedHook<ExecuteHook>[];
  /** Each sees what the one before it left; they run for denied calls too. */
  readonly postExecute: readonly NamedHook<PostExecuteHook>[];
  /** Told of each result; they cannot change it and their errors change nothing. */
  readonly observers: readonly NamedHook<ResultObserver>[];
}

/** How long a hook may take that names no time; `tools/execute` is bounded by the tool's own timeout instead. */
export const HOOK_DEADLINE_MS = 5000;
export const MAX_HOOK_TIMEOUT_MS = 30_000;

/** How much of a hook's own error message is kept: it goes into results and into the log. */
const CAUSE_CHARACTERS = 600;

/** A hook threw, was late, or decided what cannot be; the message blames it by name. */
export class HookFailure extends Error {
  override readonly name = 'HookFailure';

  constructor(
    readonly hook: string,
    cause: unknown,
  ) {
    const message = cause instanceof Error ? cause.message : String(cause);
    super(`The hook ${hook} failed: ${message.slice(0, CAUSE_CHARACTERS)}`, { cause });
  }
}

/**
 * Runs one hook by its deadline.
 * @throws HookFailure where it throws or does not settle within its deadline.
 */
export async function runHook<T>(
  { name, timeoutMs = HOOK_DEADLINE_MS }: NamedHook<unknown>,
  run: () => Awaitable<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(lateHook(timeoutMs));
    }, timeoutMs);
  });
  try {
    return await Promise.race([(async () => run())(), late]);
  } catch (error) {
    throw new HookFailure(name, error);
  } finally {
    clearTimeout(timer);
  }
}

/** Why a hook failed that did not settle in time. */
export function lateHook(timeoutMs: number): Error {
  return new Error(`it did not settle within ${String(timeoutMs)} ms`);
}
