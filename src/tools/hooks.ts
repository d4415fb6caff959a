/**
 * The hook points around a tool call: typed middleware that a deployment brings (TOOLS, hooks).
 *
 * Owns their types and the deadline. Where each runs is in `pipeline.ts`. A hook that throws or is late fails closed.
 */
import type { InputBlock } from '../contract/content.js';
import type { ToolEffect } from '../contract/events.js';
import type { ToolOutcome } from './pipeline.js';
import type { ToolFailure, ToolOutput, ToolResultMeta } from './tool.js';

/** The call that a hook looks at. `arguments` are parsed; `{}` where they were invalid. */
export interface HookCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly effect: ToolEffect;
}

type Awaitable<T> = T | Promise<T>;

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
}

/** A hook with the name by which errors blame it. */
export interface NamedHook<F> {
  readonly name: string;
  readonly run: F;
}

/**
 * Each hook point's hooks in their order. Pre-execute hooks and guards run when a call is planned and again right before
 * it starts, so they decide and do nothing else.
 */
export interface ToolHooks {
  readonly preExecute: readonly NamedHook<(call: HookCall) => Awaitable<PreExecuteDecision>>[];
  readonly guards: readonly NamedHook<(call: HookCall) => Awaitable<GuardDecision>>[];
  /** Around the body; the first is the outermost. `next` may be called once. */
  readonly execute: readonly NamedHook<
    (call: HookCall, next: () => Promise<ToolOutput>) => Promise<ToolOutput>
  >[];
  /** Each sees what the one before it left; they run for denied calls too. */
  readonly postExecute: readonly NamedHook<
    (call: HookCall, result: DraftResult) => Awaitable<PostExecuteDecision>
  >[];
  /** Told of each result; they cannot change it and their errors change nothing. */
  readonly observers: readonly NamedHook<(call: HookCall, outcome: ToolOutcome) => Awaitable<void>>[];
}

export const NO_HOOKS: ToolHooks = {
  preExecute: [],
  guards: [],
  execute: [],
  postExecute: [],
  observers: [],
};

/** How long one hook may take; `tools/execute` is bounded by the tool's own timeout instead. */
export const HOOK_DEADLINE_MS = 10_000;

/** A hook threw or was late; the message blames it by name. */
export class HookFailure extends Error {
  override readonly name = 'HookFailure';
}

/**
 * Runs one hook.
 * @throws HookFailure where it throws or does not settle within {@link HOOK_DEADLINE_MS}.
 */
export async function runHook<T>(name: string, run: () => Awaitable<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`it did not settle within ${String(HOOK_DEADLINE_MS)} ms`));
    }, HOOK_DEADLINE_MS);
  });
  try {
    return await Promise.race([(async () => run())(), late]);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new HookFailure(`The hook ${name} failed: ${cause}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
