/**
 * The checks before a call runs: its name, its arguments, the pre-execute hooks, the permission policy, the guards.
 *
 * They run when a call is planned and again right before it starts. They never throw: a hook that fails denies.
 */
import type { ToolResultCode } from '../contract/failures.js';
import { decidePermission, type PermissionDecision, stricterDecision } from '../core/permission.js';
import { checkArguments, parseCallArguments } from './call-arguments.js';
import { type HookCall, runHook, type ToolHooks } from './hooks.js';
import type { CallRequest } from './pipeline.js';
import type { ToolRegistry } from './registry.js';
import type { CallMode, Tool } from './tool.js';

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
    return { kind: 'checked', call, tool, mode: 'exclusive', decision: { kind: 'deny', reason } };
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
  let call = original;
  let decision: PermissionDecision = { kind: 'allow', reason: '' };
  for (const hook of hooks.preExecute) {
    const wish = await runHook(hook.name, () => hook.run(call));
    if (wish?.kind === 'rewrite') {
      const rewritten = checkArguments(tool, wish.arguments);
      if (!rewritten.ok) throw new Error(`The hook ${hook.name} rewrote the arguments. ${rewritten.message}`);
      call = { ...call, arguments: rewritten.value };
    } else if (wish !== undefined) {
      decision = stricterDecision(decision, wish);
    }
  }
  // The policy judges what would run, so it comes after the rewrites.
  const policy = decidePermission(request.policy, {
    tool: tool.name,
    permission: tool.permission,
    arguments: call.arguments,
  });
  decision = stricterDecision(policy, decision);
  for (const guard of hooks.guards) {
    const verdict = await runHook(guard.name, () => guard.run(call));
    if (verdict !== undefined) decision = stricterDecision(decision, verdict);
  }
  return { kind: 'checked', call, tool, mode: tool.concurrency(call.arguments), decision };
}
