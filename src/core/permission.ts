/**
 * Whether a tool call may run: the table of permission modes and the rules on top of it (TOOLS, permission modes).
 *
 * Owns the decision as a pure function. Asking a person, and what the model is told, is not done here.
 */
import type { PermissionRule } from '../contract/configuration.js';
import { assertNever } from '../contract/failures.js';
import type { PermissionMode } from '../contract/session.js';

/** What a tool touches, by which the mode judges it. `none` is for tools that touch nothing outside of the session. */
export type PermissionClass = 'read' | 'write' | 'shell' | 'network' | 'none';

/** A call that a person allowed for the rest of the session: with these very arguments, or any that fit the globs. */
export type PermissionGrant =
  | { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly tool: string; readonly match: Readonly<Record<string, string>> };

/** What a session allows. `sandboxed` tells whether its commands run in a sandbox that holds them in the workspace. */
export interface PermissionPolicy {
  readonly mode: PermissionMode;
  readonly rules: readonly PermissionRule[];
  /** They answer what would be asked; a denial stays one. */
  readonly grants: readonly PermissionGrant[];
  readonly sandboxed: boolean;
  /** Why every call that may change something is asked about for now, whatever rules and grants say; absent: it is not. */
  readonly askFirst?: string;
}

/** A call as the policy sees it: `arguments` are parsed and valid. */
export interface PermissionSubject {
  readonly tool: string;
  readonly permission: PermissionClass;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The plain spellings of arguments that are paths; a pattern that fits one of them fits. */
  readonly paths?: Readonly<Record<string, readonly string[]>>;
}

/** `reason` is a sentence that a person and a model can read. */
export interface PermissionDecision {
  readonly kind: 'allow' | 'deny' | 'ask';
  readonly reason: string;
}

/** What the pre-execute hooks made of a call: their strictest decision, and its arguments where they rewrote them. */
export interface PreExecuted {
  readonly decision: PermissionDecision;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** Decides a call: the first rule that matches, else the mode's table. */
export function decidePermission(policy: PermissionPolicy, subject: PermissionSubject): PermissionDecision {
  const rule = policy.rules.find((candidate) => matchesRule(candidate, subject));
  if (rule !== undefined) {
    return { kind: rule.decision, reason: ruleReason(rule, subject.tool) };
  }
  return decideByMode(policy, subject.permission);
}

/** The stricter of two decisions: deny before ask before allow; the first where they are alike. */
export function stricterDecision(a: PermissionDecision, b: PermissionDecision): PermissionDecision {
  return STRICTNESS[b.kind] > STRICTNESS[a.kind] ? b : a;
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const;

/** Whether the whole text fits the pattern, in which `*` stands for any characters and everything else for itself. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false;
  // The earliest place of each middle part leaves the most room for the next, so one pass without backtracking is enough.
  let from = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

function matchesRule(rule: PermissionRule, subject: PermissionSubject): boolean {
  return matchesPattern(rule.tool, subject.tool) && matchesArguments(rule.match ?? {}, subject);
}

type Matched = Pick<PermissionSubject, 'arguments' | 'paths'>;

function matchesArguments(
  patterns: Readonly<Record<string, string>>,
  { arguments: args, paths }: Matched,
): boolean {
  return Object.entries(patterns).every(([name, pattern]) => {
    if (!Object.hasOwn(args, name)) return false;
    const value = args[name];
    const spellings = paths?.[name] ?? [typeof value === 'string' ? value : JSON.stringify(value)];
    return spellings.some((text) => matchesPattern(pattern, text));
  });
}

/**
 * Whether a grant of the session covers the call.
 *
 * @param identity the arguments by which a grant knows a call again; the others may differ. Default: all.
 */
export function isGranted(
  grants: readonly PermissionGrant[],
  subject: Pick<PermissionSubject, 'tool' | 'arguments' | 'paths'>,
  identity?: readonly string[],
): boolean {
  return grants.some((grant) => {
    if (grant.tool !== subject.tool) return false;
    if ('match' in grant) return matchesArguments(grant.match, subject);
    const names = identity ?? [
      ...new Set([...Object.keys(grant.arguments), ...Object.keys(subject.arguments)]),
    ];
    return names.every((name) => canonical(grant.arguments[name]) === canonical(subject.arguments[name]));
  });
}

/** The same text for values that differ in the order of their keys alone. */
function canonical(value: unknown): string {
  if (value === undefined) return '';
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function ruleReason(rule: PermissionRule, tool: string): string {
  const where = Object.entries(rule.match ?? {}).map(([name, pattern]) => `${name} like "${pattern}"`);
  const what = where.length === 0 ? tool : `${tool} with ${where.join(' and ')}`;
  switch (rule.decision) {
    case 'allow':
      return `A rule of the profile allows ${what}.`;
    case 'deny':
      return `A rule of the profile denies ${what}.`;
    case 'ask':
      return `A rule of the profile wants ${what} to be approved.`;
    default:
      return assertNever(rule.decision);
  }
}

function decideByMode({ mode, sandboxed }: PermissionPolicy, touched: PermissionClass): PermissionDecision {
  const allowed = { kind: 'allow', reason: `The permission mode ${mode} allows it.` } as const;
  if (mode === 'full-access') return allowed;
  switch (touched) {
    case 'none':
    case 'read':
      return allowed;
    case 'write':
      return mode === 'workspace-write'
        ? allowed
        : { kind: 'deny', reason: 'The permission mode read-only does not let files be written.' };
    case 'shell':
      if (mode === 'read-only') {
        return { kind: 'ask', reason: 'In the permission mode read-only each shell command needs approval.' };
      }
      return sandboxed
        ? allowed
        : {
            kind: 'ask',
            reason: `In the permission mode ${mode} a shell command needs approval where there is no sandbox.`,
          };
    case 'network':
      return { kind: 'ask', reason: `In the permission mode ${mode} network access needs approval.` };
    default:
      return assertNever(touched);
  }
}
