/**
 * The pipeline of one tool call (TOOLS): plan it right after the model's message, execute it when its turn comes.
 *
 * Owns the order of checks, hooks and the body, and turns whatever happens into a result. What is written to the log,
 * and what an abort means for the call, is the caller's.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { type InputBlock, inputBlockSchema } from '../contract/content.js';
import {
  type ApprovalPreview,
  type Question,
  type Todo,
  todoSchema,
  type ToolEffect,
  toolResultMetaSchema,
} from '../contract/events.js';
import type { Clock } from '../contract/ids.js';
import type { PermissionDecision, PermissionPolicy, PreExecuted } from '../core/permission.js';
import { type CheckedCall, checkCall } from './call-check.js';
import { previewCall } from './call-preview.js';
import { type DraftResult, type HookCall, HookFailure, runHook, type ToolHooks } from './hooks.js';
import type { ToolRegistry, ToolSelection } from './registry.js';
import { boundContent } from './result-bounds.js';
import { errorResult, runBody } from './tool-body.js';
import type { CallMode, ToolContext, ToolFailure, ToolOutput, ToolResultMeta } from './tool.js';

export interface ToolPipelineDeps {
  readonly registry: ToolRegistry;
  readonly hooks: ToolHooks;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface CallRequest {
  readonly call: { readonly callId: string; readonly name: string; readonly arguments: string };
  /** The tools that were offered to the model; any other is unknown. */
  readonly selection: ToolSelection;
  readonly policy: PermissionPolicy;
  /** By which rules know a path however it is spelled: the absolute folder that relative ones count from. */
  readonly workspace: string;
  /** The recorded word of the pre-execute hooks, which are not asked again then. */
  readonly preExecuted?: PreExecuted;
}

/** How a call is to be run. A call that will not reach its body (unknown, invalid, denied) is quick and parallel. */
export interface CallPlan {
  readonly effect: ToolEffect;
  readonly mode: CallMode;
  /** May run as a local activity. */
  readonly quick: boolean;
  readonly decision: PermissionDecision;
  /** What a person is to answer before it runs. */
  readonly questions?: readonly Question[];
  /** Absent where there are no such hooks, or the call is refused before them. */
  readonly preExecuted?: PreExecuted;
}

/** What a person made of a call that waited for one. */
export type PersonsVerdict =
  | { readonly kind: 'allowed' }
  | {
      readonly kind: 'refused';
      readonly code: 'DENIED' | 'APPROVAL_EXPIRED' | 'APPROVAL_UNAVAILABLE';
      readonly reason: string;
    };

export interface ExecuteRequest extends CallRequest {
  readonly context: ToolContext;
  /** Set for a call that waited for a person. */
  readonly verdict?: PersonsVerdict;
  /** Awaited right before the body, and only then; where it throws the body does not run and `executeCall` throws the same. */
  readonly beforeBody?: () => Promise<void>;
}

/** The result of a call, ready for `tool/result`. `contexts` are further user messages, each a list of blocks. */
export interface ToolOutcome {
  readonly content: readonly InputBlock[];
  readonly isError: boolean;
  readonly error?: ToolFailure;
  readonly meta?: ToolResultMeta;
  readonly todos?: readonly Todo[];
  readonly durationMs: number;
  readonly contexts: readonly (readonly InputBlock[])[];
}

export interface ToolPipeline {
  /** Whether pre-execute hooks are asked, so that what they said is to be recorded. */
  readonly asksHooks: boolean;
  /** Says how a call would run now. Never throws. */
  planCall(request: CallRequest): Promise<CallPlan>;
  /** What the call would do, for a person; undefined where the tool cannot say. Never throws. */
  previewCall(call: CallRequest['call'], context: ToolContext): Promise<ApprovalPreview | undefined>;
  /**
   * Checks again, runs the call and returns its result. Errors are results.
   * @throws the reason of `context.signal` where that was aborted before the body had ended, and what `beforeBody` throws.
   */
  executeCall(request: ExecuteRequest): Promise<ToolOutcome>;
}

export function createToolPipeline({ registry, hooks, clock, logger }: ToolPipelineDeps): ToolPipeline {
  const check = (request: CallRequest) => checkCall(registry, hooks, request);
  return {
    asksHooks: hooks.preExecute.length > 0,

    planCall: async (request) => planChecked(await check(request), hooks.preExecute.length > 0),

    previewCall: (call, context) => previewCall(registry, call, context),

    executeCall: async (request) => {
      const startedAt = clock();
      const { signal, saveBlob, callId } = request.context;
      signal.throwIfAborted();
      const checked = await check(request);
      signal.throwIfAborted();
      const draft = validateDraft(await settle(checked, request, hooks), checked.call.name);
      const { result, contexts } = await postExecute(hooks, checked.call, draft);
      const outcome: ToolOutcome = {
        ...result,
        content: await boundContent(result.content, saveBlob),
        durationMs: Math.max(0, clock() - startedAt),
        contexts,
      };
      for (const observer of hooks.observers) {
        await runHook(observer, () => observer.run(checked.call, structuredClone(outcome))).catch(
          (error: unknown) => {
            // An observer only watches: its error does not change a result that stands.
            logger.warn(
              { err: error, tool: checked.call.name, callId },
              'a hook that observes results failed',
            );
          },
        );
      }
      return outcome;
    },
  };
}

function planChecked(checked: CheckedCall, asksHooks: boolean): CallPlan {
  if (checked.kind === 'refused') {
    const decision = { kind: 'deny', reason: checked.text } as const;
    return { effect: checked.call.effect, mode: 'parallel', quick: true, decision };
  }
  const { tool, mode, decision, call, questions, preExecuted } = checked;
  const plan = { effect: call.effect, decision, ...(asksHooks ? { preExecuted } : {}) };
  if (decision.kind === 'deny') return { ...plan, mode: 'parallel', quick: true };
  const quick =
    tool.quick === true && call.effect === 'read' && decision.kind === 'allow' && questions === undefined;
  return { ...plan, mode, quick, ...(questions === undefined ? {} : { questions }) };
}

/** Runs the body, or says why it does not run. */
async function settle(checked: CheckedCall, request: ExecuteRequest, hooks: ToolHooks): Promise<ToolOutput> {
  if (checked.kind === 'refused') {
    return errorResult({ name: 'ToolCallRefused', code: checked.code }, checked.text);
  }
  const { tool, call, decision } = checked;
  if (decision.kind === 'deny') return denied(decision.reason);
  const { verdict } = request;
  if (verdict?.kind === 'refused') {
    const lacksApproval = verdict.code === 'APPROVAL_UNAVAILABLE' && decision.kind === 'ask';
    const text = lacksApproval ? unavailable(tool.name, decision.reason) : verdict.reason;
    return errorResult({ name: 'ToolCallRefused', code: verdict.code }, text);
  }
  if (decision.kind === 'ask' && verdict === undefined) {
    const text = `${tool.name} did not run: what it may do has changed since it was asked for. ${decision.reason} Ask for it again.`;
    return denied(text);
  }
  await request.beforeBody?.();
  return runBody({ tool, call, context: request.context, middleware: hooks.execute });
}

function denied(reason: string): ToolOutput {
  return errorResult({ name: 'ToolCallDenied', code: 'DENIED' }, reason);
}

function unavailable(tool: string, reason: string): string {
  return (
    `${tool} did not run: it needs an approval, and nobody is there to give one. ${reason} ` +
    'Whoever runs this session can allow it with `permission: full-access` for the session, or with a rule in the ' +
    `profile such as \`{ tool: ${tool}, decision: allow }\`. Go on without it, or say what you would have run.`
  );
}

const outputSchema = z.object({
  content: z.union([z.string(), z.array(inputBlockSchema)]),
  isError: z.boolean().optional(),
  todos: z.array(todoSchema).optional(),
  meta: z.intersection(toolResultMetaSchema, z.record(z.string(), z.json())).optional(),
});

function validateDraft(output: ToolOutput, tool: string): DraftResult {
  const issues = issuesOf(output);
  if (issues === undefined) return toDraft(output);
  return toDraft(
    errorResult(
      { name: 'InvalidToolOutput', code: 'INVALID_TOOL_OUTPUT' },
      `Error: ${tool} ran, but returned something that is no valid result.\n${issues}`,
    ),
  );
}

/** What is wrong with an output; undefined where nothing is. */
function issuesOf(output: ToolOutput): string | undefined {
  try {
    const parsed = outputSchema.safeParse(output);
    if (parsed.success) return undefined;
    return parsed.error.issues.map((issue) => `- ${issue.path.join('.')}: ${issue.message}`).join('\n');
  } catch (error) {
    // A value that refers to itself cannot even be looked through.
    return `- ${error instanceof Error ? error.message : String(error)}`;
  }
}

function toDraft({ content, isError, error, meta, todos }: ToolOutput): DraftResult {
  return {
    content: toBlocks(content),
    isError: isError ?? error !== undefined,
    ...(error === undefined ? {} : { error }),
    ...(meta === undefined ? {} : { meta }),
    ...(todos === undefined ? {} : { todos }),
  };
}

function toBlocks(content: string | readonly InputBlock[]): readonly InputBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function masked({ isError, error }: DraftResult, reason: string): DraftResult {
  const content = toBlocks(`[result withheld: ${reason}]`);
  return { content, isError, ...(error === undefined ? {} : { error }) };
}

async function postExecute(hooks: ToolHooks, call: HookCall, draft: DraftResult) {
  const contexts: (readonly InputBlock[])[] = [];
  let result = draft;
  for (const hook of hooks.postExecute) {
    try {
      const decision = await runHook(hook, () => hook.run(call, result));
      contexts.push(...(decision?.contexts ?? []));
      if (decision?.kind === 'replace') result = { ...result, content: toBlocks(decision.content) };
      if (decision?.kind === 'mask') {
        result = masked(result, decision.reason);
      }
    } catch (error) {
      if (!(error instanceof HookFailure)) throw error;
      // Fails closed: what the hook would have masked is not shown. The later hooks get no say on a withheld result.
      const text = `The result is withheld. ${error.message} The call may have had its effect.`;
      return { result: toDraft(denied(text)), contexts: [] };
    }
  }
  return { result, contexts };
}
