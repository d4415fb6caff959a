/**
 * The hook points around a turn: what each is shown and what it may decide.
 *
 * Owns the types. How the hooks of a point are asked is in `run-turn-hooks.ts` and, around the stream of a model call, in
 * `stream-hooks.ts`; the hooks around a tool call are in `tools/hooks.ts`.
 */
import type { ModelChunk } from '../contract/chunks.js';
import type { InputBlock } from '../contract/content.js';
import type { MessageSource, ModelParameters } from '../contract/events.js';
import type { ModelFailureCode } from '../contract/failures.js';
import type { ModelRequest } from '../contract/messages.js';
import type { Metadata, PermissionMode } from '../contract/session.js';
import { type Awaitable, HOOK_DEADLINE_MS, type NamedHook } from '../tools/hooks.js';

/** The session as a hook sees it: the settings in force for the step. */
export interface HookSession {
  /** Unique in a tenant; another session may have it later. */
  readonly id: string;
  /** Never used again. */
  readonly uid: string;
  /** An absolute folder. */
  readonly workspace: string;
  readonly profile: string;
  readonly provider: string;
  readonly model: string;
  readonly permission: PermissionMode;
  readonly metadata: Metadata;
}

/** Where in a session a hook is asked; both count from 1. */
export interface HookPlace {
  readonly session: HookSession;
  readonly turn: number;
  readonly step: number;
}

/** A text, or blocks. */
export type HookContent = string | readonly InputBlock[];

/** A further user message of a hook, whose name becomes its source in the log. */
export interface HookMessage {
  readonly hook: string;
  readonly content: readonly InputBlock[];
}

/** The step or the turn does not go on: `turn/end blocked {hook, note}`. */
export interface Blocked {
  readonly kind: 'blocked';
  readonly hook: string;
  readonly note: string;
}

/** Input that the step has claimed. */
export interface ClaimedEntry {
  readonly itemId: string;
  /** A text over 64 KiB is a `blob` block here, with its head and tail. */
  readonly content: readonly InputBlock[];
  readonly source: MessageSource;
  /** When it came, ISO 8601. */
  readonly at: string;
}

export interface PreStepInput<E extends ClaimedEntry = ClaimedEntry> extends HookPlace {
  /** In the order of the messages that they become; often empty from the second step on. */
  readonly entries: readonly E[];
  /** The whole of a `blob`, `image` or `file` block; undefined where it is not in the session. */
  readonly readBlob: (sha256: string) => Promise<Uint8Array | undefined>;
}

/**
 * What an `agent/pre-step` hook wants; undefined enters the step. `rewrite` replaces the content of the entries that it
 * names, `add` puts a message after all of them, `reject` ends the turn and does not put the input back.
 */
export type PreStepDecision =
  | {
      readonly kind: 'rewrite';
      readonly entries: readonly { readonly itemId: string; readonly content: HookContent }[];
    }
  | { readonly kind: 'add'; readonly content: HookContent }
  | { readonly kind: 'reject'; readonly note: string }
  | undefined;

export type PreStepHook = (input: PreStepInput) => Awaitable<PreStepDecision>;

/** What the step's input becomes. */
export type PreStepOutcome<E extends ClaimedEntry> =
  | { readonly kind: 'enter'; readonly entries: readonly E[]; readonly added: readonly HookMessage[] }
  | Blocked;

/** What a hook may change of a request: the part of `request/header` that is a choice. */
export interface RequestChoice {
  readonly provider: string;
  readonly model: string;
  readonly parameters: ModelParameters;
  /** Names of the tools that are offered, in byte order. */
  readonly tools: readonly string[];
}

export interface RequestInput extends HookPlace {
  readonly request: RequestChoice;
}

/**
 * What an `agent/request` hook changes; undefined changes nothing, a part that is left out stays. `parameters` replace the
 * ones that stand; `tools` may only leave some out; a model is of the provider that stands beside it.
 */
export type RequestDecision =
  | {
      readonly kind: 'change';
      readonly provider?: string;
      readonly model?: string;
      readonly parameters?: ModelParameters;
      readonly tools?: readonly string[];
    }
  | undefined;

export type RequestHook = (input: RequestInput) => Awaitable<RequestDecision>;

/** The request that the hooks leave. */
export type RequestOutcome = { readonly kind: 'request'; readonly request: RequestChoice } | Blocked;

export interface StreamInput extends HookPlace {
  /** From 1 in its step. */
  readonly attempt: number;
  /** What is sent. It stands in the log, and so cannot be changed. */
  readonly request: ModelRequest;
  /** Aborted where the attempt is: by a cancel, or the end of the worker. */
  readonly signal: AbortSignal;
}

/**
 * Around the chunks of one attempt; the first hook is the outermost. `next` starts the attempt, or the hook inside of this
 * one, and may be called once. What is yielded is shown and becomes the message; it ends with one `finish`.
 */
export type StreamHook = (
  input: StreamInput,
  next: () => AsyncIterable<ModelChunk>,
) => AsyncIterable<ModelChunk>;

/** A model attempt that failed. */
export interface RequestErrorInput extends HookPlace {
  readonly code: ModelFailureCode;
  /** The HTTP status, where the provider answered. */
  readonly status?: number;
  readonly message: string;
  /** From 1 in its step. */
  readonly attempt: number;
  /** Whether it is tried again without a word of a hook. */
  readonly retryable: boolean;
  /** How long is waited before another attempt where no hook says otherwise, in milliseconds. */
  readonly delayMs: number;
}

/** What an `agent/request-error` hook wants; undefined is no opinion. `delayMs` is at most a day. */
export type RequestErrorDecision =
  { readonly kind: 'give-up' } | { readonly kind: 'retry'; readonly delayMs?: number } | undefined;

export type RequestErrorHook = (input: RequestErrorInput) => Awaitable<RequestErrorDecision>;

export interface TurnStoppingInput extends HookPlace {
  /** The whole text of the last assistant message. */
  readonly output: string;
}

/** What an `agent/turn-stopping` hook wants; undefined lets the turn stop. */
export type TurnStoppingDecision = { readonly kind: 'continue'; readonly content: HookContent } | undefined;

export type TurnStoppingHook = (input: TurnStoppingInput) => Awaitable<TurnStoppingDecision>;

/** Each hook point's hooks in their order. */
export interface TurnHooks {
  readonly preStep: readonly NamedHook<PreStepHook>[];
  readonly request: readonly NamedHook<RequestHook>[];
  readonly stream: readonly NamedHook<StreamHook>[];
  readonly requestError: readonly NamedHook<RequestErrorHook>[];
  readonly turnStopping: readonly NamedHook<TurnStoppingHook>[];
}

/** The most that the hooks between two steps can take together; the time of the activity that asks them leaves room for it. */
export function betweenStepsMs({ preStep, request, turnStopping }: TurnHooks): number {
  const hooks: readonly NamedHook<unknown>[] = [...preStep, ...request, ...turnStopping];
  return hooks.reduce((sum, { timeoutMs = HOOK_DEADLINE_MS }) => sum + timeoutMs, 0);
}
