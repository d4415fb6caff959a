import { describe, expect, it } from 'vitest';
import type { PermissionRule } from '../../../src/contract/configuration.js';
import type { PermissionMode } from '../../../src/contract/session.js';
import {
  decidePermission,
  isGranted,
  matchesPattern,
  type PermissionClass,
  stricterDecision,
} from '../../../src/core/permission.js';

const decide = (
  mode: PermissionMode,
  permission: PermissionClass,
  { rules = [], sandboxed = false }: { rules?: PermissionRule[]; sandboxed?: boolean } = {},
) =>
  decidePermission(
    { mode, rules, grants: [], sandboxed },
    { tool: 'bash', permission, arguments: { command: 'rm -rf x' } },
  );

describe('the permission mode', () => {
  const table: [PermissionMode, PermissionClass, string][] = [
    ['read-only', 'none', 'allow'],
    ['read-only', 'read', 'allow'],
    ['read-only', 'write', 'deny'],
    ['read-only', 'shell', 'ask'],
    ['read-only', 'network', 'ask'],
    ['workspace-write', 'none', 'allow'],
    ['workspace-write', 'read', 'allow'],
    ['workspace-write', 'write', 'allow'],
    ['workspace-write', 'shell', 'ask'],
    ['workspace-write', 'network', 'ask'],
    ['full-access', 'none', 'allow'],
    ['full-access', 'read', 'allow'],
    ['full-access', 'write', 'allow'],
    ['full-access', 'shell', 'allow'],
    ['full-access', 'network', 'allow'],
  ];
  it.each(table)('%s answers a tool of the class %s with %s', (mode, permission, expected) => {
    const decision = decide(mode, permission);
    expect(decision.kind).toBe(expected);
    expect(decision.reason).toMatch(/^[A-Z].*\.$/);
  });

  it('workspace-write allows a shell in a sandbox, and read-only asks there too', () => {
    expect(decide('workspace-write', 'shell', { sandboxed: true }).kind).toBe('allow');
    expect(decide('read-only', 'shell', { sandboxed: true }).kind).toBe('ask');
  });
});

describe('a rule', () => {
  it('wins over the mode, and the first that matches over the later ones', () => {
    const rules: PermissionRule[] = [
      { tool: 'write', decision: 'ask' },
      { tool: 'b*', match: { command: 'rm *' }, decision: 'deny' },
      { tool: '*', decision: 'allow' },
    ];
    const decision = decide('full-access', 'shell', { rules });
    expect(decision).toEqual({
      kind: 'deny',
      reason: 'A rule of the profile denies bash with command like "rm *".',
    });
  });

  it('needs all of its argument patterns to match', () => {
    const rules: PermissionRule[] = [
      { tool: 'bash', match: { command: 'rm *', workdir: '*' }, decision: 'deny' },
    ];
    expect(decide('full-access', 'shell', { rules }).kind).toBe('allow');
  });

  it('matches arguments that are no strings by their JSON, and never what is inherited', () => {
    const subject = { tool: 'bash', permission: 'shell', arguments: { timeout_ms: 5000 } } as const;
    const byRule = (match: Record<string, string>) =>
      decidePermission(
        {
          mode: 'full-access',
          rules: [{ tool: '*', match, decision: 'deny' }],
          grants: [],
          sandboxed: false,
        },
        subject,
      );
    expect(byRule({ timeout_ms: '5*' }).kind).toBe('deny');
    expect(byRule({ constructor: '*' }).kind).toBe('allow');
  });
});

describe('a pattern', () => {
  const matching: [string, string][] = [
    ['', ''],
    ['*', ''],
    ['*', 'any/thing\nat all'],
    ['rm *', 'rm -rf x'],
    ['*.ts', 'a/b.ts'],
    ['a*b*c', 'a-b-b-c'],
    ['mcp__*__read_*', 'mcp__files__read_text'],
  ];
  it.each(matching)('%j fits %j', (pattern, text) => {
    expect(matchesPattern(pattern, text)).toBe(true);
  });

  const other: [string, string][] = [
    ['', 'a'],
    ['rm *', 'rm'],
    ['a', 'A'],
    ['a.c', 'abc'],
    ['[ab]', 'a'],
    ['aa*aa', 'aaa'],
    ['a*b*b', 'ab'],
  ];
  it.each(other)('%j does not fit %j', (pattern, text) => {
    expect(matchesPattern(pattern, text)).toBe(false);
  });

  it('takes no long time, however many stars it has', () => {
    expect(matchesPattern('*a'.repeat(2000) + 'b', 'a'.repeat(20_000))).toBe(false);
  });
});

it('of two decisions the stricter one holds, and the first where they are alike', () => {
  const of = (kind: 'allow' | 'ask' | 'deny', reason = kind as string) => ({ kind, reason });
  expect(stricterDecision(of('allow'), of('ask')).kind).toBe('ask');
  expect(stricterDecision(of('deny'), of('ask')).kind).toBe('deny');
  expect(stricterDecision(of('ask', 'first'), of('ask', 'second')).reason).toBe('first');
});

describe('a grant of the session', () => {
  const bash = (args: Record<string, unknown>) => ({ tool: 'bash', arguments: args });
  const identity = ['command', 'workdir'];
  const exact = [{ tool: 'bash', arguments: { command: 'ls *', description: 'look' } }];

  it('covers the same arguments only, in which a star stands for itself', () => {
    expect(isGranted(exact, bash({ command: 'ls *', description: 'look' }))).toBe(true);
    expect(isGranted(exact, bash({ description: 'look', command: 'ls *' }))).toBe(true);
    expect(isGranted(exact, bash({ command: 'ls; rm x', description: 'look' }))).toBe(false);
    expect(isGranted(exact, bash({ command: 'ls *' }))).toBe(false);
    expect(isGranted(exact, { ...bash({ command: 'ls *', description: 'look' }), tool: 'other' })).toBe(
      false,
    );
  });

  it('looks at nothing but the arguments by which its tool knows a call again', () => {
    expect(isGranted(exact, bash({ command: 'ls *', description: 'other' }), identity)).toBe(true);
    expect(isGranted(exact, bash({ command: 'ls *', workdir: 'sub' }), identity)).toBe(false);
  });

  it('compares nested values by their content', () => {
    const grant = [{ tool: 't', arguments: { value: { a: 1, b: [2, { c: 3 }] } } }];
    expect(isGranted(grant, { tool: 't', arguments: { value: { b: [2, { c: 3 }], a: 1 } } })).toBe(true);
    expect(isGranted(grant, { tool: 't', arguments: { value: { b: [{ c: 3 }, 2], a: 1 } } })).toBe(false);
  });

  it('with a pattern covers what fits its globs', () => {
    const grant = [{ tool: 'bash', match: { command: 'npm test*' } }];
    expect(isGranted(grant, bash({ command: 'npm test -- a', workdir: 'x' }), identity)).toBe(true);
    expect(isGranted(grant, bash({ command: 'npm publish' }), identity)).toBe(false);
    expect(isGranted(grant, bash({}), identity)).toBe(false);
  });
});
