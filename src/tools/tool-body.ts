/**
 * Runs the body of a tool inside its `tools/execute` middleware, with a timeout, and turns what it throws into a result.
 */
import type { HookCall, ToolHooks } from './hooks.js';
import {
  DEFAULT_TOOL_TIMEOUT_MS,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolFailure,
  type ToolOutput,
} from './tool.js';

/** How long an aborted body may take to settle before it is given up. */
export const ABORT_GRACE_MS = 3000;

export interface BodyRequest {
  readonly tool: Tool;
  readonly call: HookCall;
  readonly context: ToolContext;
  readonly middleware: ToolHooks['execute'];
}

/**
 * Runs the body and returns its output, or an error result.
 * @throws the reason of `context.signal` where that was aborted and the body did not return before it noticed.
 */
export async function runBody({ tool, call, context, middleware }: BodyRequest): Promise<ToolOutput> {
  const timeout = new AbortController();
  const signal = AbortSignal.any([context.signal, timeout.signal]);
  let timer: NodeJS.Timeout | undefined;
  const progress = { bodyRan: false };
  const body = async () => {
    const timeoutMs = tool.timeoutMs?.(call.arguments) ?? DEFAULT_TOOL_TIMEOUT_MS;
    timer = setTimeout(() => {
      timeout.abort(
        new ToolError('TOOL_TIMEOUT', `${tool.name} did not end within ${String(timeoutMs)} ms.`),
      );
    }, timeoutMs);
    progress.bodyRan = true;
    return tool.execute(call.arguments, { ...context, signal });
  };
  try {
    return await settleAfterAbort(wrap(middleware, call, body), signal);
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    if (timeout.signal.aborted) return errorResultOf(timeout.signal.reason);
    if (!progress.bodyRan) {
      const text = `${tool.name} did not run: ${messageOf(error)}`;
      return errorResult({ name: 'ToolCallDenied', code: 'DENIED' }, text);
    }
    return errorResultOf(error);
  } finally {
    clearTimeout(timer);
  }
}

/** An error result with one text block. */
export function errorResult(error: ToolFailure, text: string): ToolOutput {
  return { content: text, isError: true, error };
}

function errorResultOf(error: unknown): ToolOutput {
  const failure: ToolFailure =
    error instanceof ToolError
      ? { name: error.name, code: error.code }
      : { name: error instanceof Error ? error.name : 'Error', code: 'TOOL_ERROR' };
  return errorResult(failure, `Error: ${messageOf(error)}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function wrap(
  middleware: BodyRequest['middleware'],
  call: HookCall,
  body: () => Promise<ToolOutput>,
): Promise<ToolOutput> {
  const run = middleware.reduceRight<() => Promise<ToolOutput>>(
    (next, hook) => async () => hook.run(call, once(hook.name, next)),
    body,
  );
  return run();
}

/** A body runs at most once, whatever the middleware does. */
function once(hook: string, next: () => Promise<ToolOutput>): () => Promise<ToolOutput> {
  let called = false;
  return async () => {
    if (called) throw new Error(`the hook ${hook} called next() twice`);
    called = true;
    return next();
  };
}

/** The promise itself, but once the signal is aborted only {@link ABORT_GRACE_MS} longer. */
async function settleAfterAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const givenUp = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      timer = setTimeout(() => {
        reject(signal.reason as Error);
      }, ABORT_GRACE_MS);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, givenUp]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
