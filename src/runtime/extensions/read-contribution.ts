/**
 * Checks one contribution of an extension and makes the tool or the hook of it.
 *
 * Owns the rules for both and the words about what breaks them. Which modules there are, and names that are taken, is
 * `load-extensions.ts`.
 */
import { z } from 'zod';
import { approvalPreviewSchema, questionSchema, toolEffectSchema } from '../../contract/events.js';
import { MAX_HOOK_TIMEOUT_MS } from '../../tools/hooks.js';
import type { Tool } from '../../tools/tool.js';
import { formatPath } from '../configuration/configuration-path.js';
import { nearestNameHint } from '../configuration/nearest-name.js';
import type { ExtensionTool, HookContribution } from './extension-api.js';
import { hasOwnDeadline, HOOK_POINTS, withCheckedAnswers } from './hook-points.js';

/** A contribution that can be used, or what is wrong with it, each as a sentence. */
export type ReadContribution =
  | { readonly kind: 'tool'; readonly tool: Tool }
  | { readonly kind: 'hook'; readonly hook: HookContribution }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };

/** The tools of MCP servers begin so. */
const RESERVED_PREFIX = 'mcp__';
const LONGEST_NAME = 64;
const LONGEST_TOOL_TIMEOUT_MS = 86_400_000;

const aFunction = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);
const milliseconds = z.number().int().min(1);
const toolMilliseconds = milliseconds.max(LONGEST_TOOL_TIMEOUT_MS);
const callMode = z.enum(['parallel', 'exclusive']);

const objectSchema = z.unknown().superRefine((value, context) => {
  const problem = schemaProblem(value);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

const toolShape = {
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')
    .refine((name) => !name.startsWith(RESERVED_PREFIX), `must not begin with "${RESERVED_PREFIX}"`),
  description: z.string().min(1),
  parameters: objectSchema,
  effect: toolEffectSchema,
  permission: z.enum(['read', 'write', 'shell', 'network', 'none']),
  quick: z.boolean().optional(),
  concurrency: z.union([callMode, aFunction]).optional(),
  timeoutMs: z.union([toolMilliseconds, aFunction]).optional(),
  grantArguments: z.array(z.string()).optional(),
  escalation: aFunction.optional(),
  questions: aFunction.optional(),
  preview: aFunction.optional(),
  execute: aFunction,
} satisfies Record<keyof ExtensionTool, z.ZodType>;
const toolSchema = z.strictObject(toolShape);

/** What the functions of a tool may answer, beside the body, whose output is checked when it has run. */
const ANSWERS = {
  concurrency: callMode,
  timeoutMs: toolMilliseconds,
  escalation: z.string().min(1).optional(),
  questions: z.array(questionSchema).min(1),
  preview: approvalPreviewSchema,
} satisfies Partial<Record<keyof ExtensionTool, z.ZodType>>;

const hookSchema = z.strictObject({
  name: z.string().min(1).max(LONGEST_NAME),
  run: aFunction,
  timeoutMs: milliseconds.max(MAX_HOOK_TIMEOUT_MS).optional(),
});

const contributionSchema = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('tool'), tool: z.unknown() }),
  z.looseObject({ kind: z.literal('hook'), point: z.unknown(), hook: z.unknown() }),
]);

/** Reads what stands in the list that a module exports. */
export function readContribution(value: unknown): ReadContribution {
  const contribution = contributionSchema.safeParse(value);
  if (!contribution.success) {
    return problem('is neither a tool nor a hook: make it with defineTool or defineHook.');
  }
  return contribution.data.kind === 'tool'
    ? readTool(contribution.data.tool)
    : readHook(contribution.data.point, contribution.data.hook);
}

function readTool(value: unknown): ReadContribution {
  const parsed = toolSchema.safeParse(value);
  if (!parsed.success) return wrong(`the tool ${nameOf(value)}`, parsed.error, Object.keys(toolShape));
  const tool = value as ExtensionTool;
  const mode = tool.effect === 'read' ? 'parallel' : 'exclusive';
  return {
    kind: 'tool',
    tool: {
      ...(parsed.data as unknown as Tool),
      ...functionsWithCheckedAnswers(tool, { concurrency: mode, ...parsed.data }),
      execute: async (args, context) => tool.execute(args as never, context),
    },
  };
}

/** A value is the answer to all arguments. A wrong answer is thrown, which denies the call or leaves the preview out. */
function functionsWithCheckedAnswers(
  tool: ExtensionTool,
  parts: Readonly<Record<string, unknown>>,
): Pick<Tool, keyof typeof ANSWERS> {
  const functions = Object.entries(ANSWERS).flatMap(([key, answers]) => {
    const part = parts[key];
    if (part === undefined) return [];
    const check = (answer: unknown) => {
      const checked = answers.safeParse(answer);
      if (checked.success) return checked.data;
      throw new Error(`${tool.name} gives a wrong ${key}: ${z.prettifyError(checked.error)}`);
    };
    const answer = (...args: unknown[]): unknown =>
      typeof part === 'function' ? Reflect.apply(part, tool, args) : part;
    const checked =
      key === 'preview'
        ? async (...args: unknown[]) => check(await answer(...args))
        : (...args: unknown[]) => check(answer(...args));
    return [[key, checked] as const];
  });
  return Object.fromEntries(functions) as unknown as Pick<Tool, keyof typeof ANSWERS>;
}

function readHook(point: unknown, value: unknown): ReadContribution {
  const who = `the hook ${nameOf(value)}`;
  const known = HOOK_POINTS.find((candidate) => candidate === point);
  if (known === undefined) {
    const given = typeof point === 'string' ? point : String(point);
    const hint = nearestNameHint(given, HOOK_POINTS);
    return problem(`(${who}) names the hook point ${JSON.stringify(given)}, which does not exist; ${hint}`);
  }
  const parsed = hookSchema.safeParse(value);
  if (!parsed.success) return wrong(who, parsed.error, Object.keys(hookSchema.shape));
  if (parsed.data.timeoutMs !== undefined && !hasOwnDeadline(known)) {
    return problem(`(${who}) has a timeoutMs, but ${known} has the time of the tool. Leave it out.`);
  }
  return {
    kind: 'hook',
    hook: withCheckedAnswers({ kind: 'hook', point: known, hook: value } as HookContribution),
  };
}

function nameOf(value: unknown): string {
  const name: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'name') : undefined;
  return typeof name === 'string' ? JSON.stringify(name) : 'without a name';
}

function problem(text: string): ReadContribution {
  return { kind: 'wrong', problems: [text] };
}

function wrong(who: string, error: z.ZodError, known: readonly string[]): ReadContribution {
  const problems = error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(
        (key) => `has the unknown key ${JSON.stringify(key)}; ${nearestNameHint(key, known)}`,
      );
    }
    const reason = issue.message.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
    return issue.path.length === 0
      ? [`is wrong: ${reason}.`]
      : [`has a wrong ${formatPath(issue.path)}: ${reason}.`];
  });
  return { kind: 'wrong', problems: problems.map((text) => `(${who}) ${text}`) };
}

/** Why a value cannot be the schema of a tool's arguments. Any copy of zod 4 will do; they share their inner shape. */
function schemaProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'must be a zod schema';
  if (!('_zod' in value)) {
    return '_def' in value
      ? 'is a schema of zod 3; use the z that the module is handed, or zod 4'
      : 'must be a zod schema';
  }
  if (!('safeParse' in value)) return 'must be a schema of zod or zod/mini, which can parse';
  const schema = value as z.ZodType;
  const { type } = schema._zod.def;
  if (type !== 'object') return `must be an object schema (z.strictObject), not one of type "${type}"`;
  try {
    z.toJSONSchema(schema, { io: 'input' });
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `cannot be shown to a model as JSON Schema: ${reason}`;
  }
}
