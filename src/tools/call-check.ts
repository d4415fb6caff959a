/**
 * The checks before a call runs: its name, its arguments, the pre-execute hooks, the permission policy, the guards.
 *
 * They run when a call is planned and again right before it starts, but for the pre-execute hooks, whose word is
 * recorded with the plan. They never throw: a hook that fails denies, and so does a tool that cannot say what it asks.
 */
import type { Question } from '../contract/events.js';
import { relative, resolve } from 'node:path';
import type { ToolResultCode } from '../contract/failures.js';
import {
  decidePermission,
  isGranted,
  type PermissionDecision,
  type PermissionPolicy,
  type PermissionSubject,
  type PreExecuted,
  stricterDecision,
} from '../core/permission.js';
import { checkArguments, parseCallArguments } from './call-arguments.js';
import { type HookCall, runHook, type ToolHooks } from './hooks.js';
import type { CallRequest } from './pipeline.js';
import type { ToolRegistry } from './registry.js';
import type { CallMode, Tool } from './tool.js';
import { isWithin } from './workspace-paths.js';

/** `refused`: unknown or with invalid arguments, so that no decision is needed. */
export type CheckedCall =
  | {
      readonly kind: 'refused';
      readonly call: HookCall;
      readonly code: ToolResultCode;
      readonly text: string;
    }
  | {
      readonly kind: 'checked';
      readonly call: HookCall;
      readonly tool: Tool;
      readonly mode: CallMode;
      readonly decision: PermissionDecision;
      /** What a person answers before it runs; of a call that is not denied. */
      readonly questions?: readonly Question[];
      /** What the pre-execute hooks said; `call` has the arguments that they left. */
      readonly preExecuted: PreExecuted;
    };

export async function checkCall(
  registry: ToolRegistry,
  hooks: ToolHooks,
  request: CallRequest,
): Promise<CheckedCall> {
  const { callId, name, arguments: raw } = request.call;
  const names = registry.names(request.selection);
  const tool = names.includes(name) ? registry.get(name) : undefined;
  if (tool === undefined) {
    const known = names.length === 0 ? 'There are no tools.' : `The tools are: ${names.join(', ')}.`;
    const call: HookCall = { callId, name, arguments: {}, effect: 'read' };
    return {
      kind: 'refused',
      call,
      code: 'UNKNOWN_TOOL',
      text: `There is no tool named "${name}". ${known}`,
    };
  }
  const parsed = parseCallArguments(tool, raw);
  if (!parsed.ok) {
    const call: HookCall = { callId, name, arguments: {}, effect: tool.effect };
    return { kind: 'refused', call, code: 'INVALID_ARGS', text: parsed.message };
  }
  const call: HookCall = { callId, name, arguments: parsed.value, effect: tool.effect };
  try {
    return await decide(tool, call, { hooks, request });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const decision = { kind: 'deny', reason } as const;
    return { kind: 'checked', call, tool, mode: 'exclusive', decision, preExecuted: { decision } };
  }
}

interface DecideContext {
  readonly hooks: ToolHooks;
  readonly request: CallRequest;
}

async function decide(
  tool: Tool,
  original: HookCall,
  { hooks, request }: DecideContext,
): Promise<CheckedCall> {
  const preExecuted = request.preExecuted ?? (await runPreExecute(tool, original, hooks));
  const call = { ...original, arguments: preExecuted.arguments ?? original.arguments };
  // The policy judges what would run, so it comes after the rewrites.
  const subject = subjectOf(tool, call, request.workspace);
  let decision = stricterDecision(decideByPolicy(tool, subject, request.policy), preExecuted.decision);
  if (decision.kind === 'ask') decision = relieved(tool, subject, request.policy) ?? decision;
  const { askFirst } = request.policy;
  if (askFirst !== undefined && mayChange(tool)) {
    decision = stricterDecision(decision, { kind: 'ask', reason: askFirst });
  }
  for (const guard of hooks.guards) {
    const verdict = await runHook(guard, () => guard.run(call));
    if (verdict !== undefined) decision = stricterDecision(decision, verdict);
  }
  const questions = decision.kind === 'deny' ? undefined : tool.questions?.(call.arguments);
  return {
    kind: 'checked',
    call,
    tool,
    mode: tool.concurrency(call.arguments),
    decision,
    ...(questions === undefined ? {} : { questions }),
    preExecuted,
  };
}

/** Whether the tool may change something outside of the session. */
function mayChange({ effect, permission }: Tool): boolean {
  return effect !== 'read' && permission !== 'none';
}

async function runPreExecute(tool: Tool, original: HookCall, hooks: ToolHooks): Promise<PreExecuted> {
  let call = original;
  let decision: PermissionDecision = { kind: 'allow', reason: '' };
  for (const hook of hooks.preExecute) {
    const wish = await runHook(hook, () => hook.run(call));
    if (wish?.kind === 'rewrite') {
      const rewritten = checkArguments(tool, wish.arguments);
      if (!rewritten.ok) throw new Error(`The hook ${hook.name} rewrote the arguments. ${rewritten.message}`);
      call = { ...call, arguments: rewritten.value };
    } else if (wish !== undefined) {
      decision = stricterDecision(decision, wish);
    }
  }
  return { decision, ...(call === original ? {} : { arguments: call.arguments }) };
}

function subjectOf(tool: Tool, call: HookCall, workspace: string): PermissionSubject {
  const { name, permission, pathArguments = [] } = tool;
  const paths = Object.fromEntries(
    pathArguments.flatMap((argument) => {
      const value = call.arguments[argument];
      return typeof value === 'string' ? [[argument, plainSpellings(value, workspace)]] : [];
    }),
  );
  return { tool: name, permission, arguments: call.arguments, paths };
}

/** A path as people write it in a rule: from the workspace on where it lies in it, and absolute. */
function plainSpellings(path: string, workspace: string): string[] {
  const absolute = resolve(workspace, path);
  if (!isWithin(workspace, absolute)) return [absolute];
  return [relative(workspace, absolute) || '.', absolute];
}

function decideByPolicy(
  tool: Tool,
  subject: PermissionSubject,
  policy: PermissionPolicy,
): PermissionDecision {
  const decision = decidePermission(policy, subject);
  const reason = escalationOf(tool, subject, policy);
  return reason === undefined ? decision : stricterDecision({ kind: 'ask', reason }, decision);
}

/** Why the call is asked about in any case. With full access there is nothing to escalate to. */
function escalationOf(
  tool: Tool,
  { arguments: args }: PermissionSubject,
  { mode }: PermissionPolicy,
): string | undefined {
  return mode === 'full-access' ? undefined : tool.escalation?.(args);
}

/** The answer that a person gave for the whole session, where it covers the call. */
function relieved(
  tool: Tool,
  subject: PermissionSubject,
  policy: PermissionPolicy,
): PermissionDecision | undefined {
  if (escalationOf(tool, subject, policy) !== undefined) return undefined;
  return isGranted(policy.grants, subject, tool.grantArguments)
    ? { kind: 'allow', reason: 'A person allowed it for this session.' }
    : undefined;
}
