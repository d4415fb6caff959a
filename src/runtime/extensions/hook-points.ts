/**
 * The hook points as data: what each hook may answer, and which list of hooks it joins.
 *
 * Owns the check of answers. An answer that is none of its point's fails the hook, so that a misspelt denial does not pass
 * for no opinion.
 */
import { z } from 'zod';
import type { TurnHooks } from '../../activities/turn-hooks.js';
import { inputBlockSchema } from '../../contract/content.js';
import { modelParametersSchema } from '../../contract/events.js';
import type { ToolHooks } from '../../tools/hooks.js';
import type { EventObservers } from './event-observers.js';
import type { HookContribution, HookPoint } from './extension-api.js';

const LONGEST_RETRY_DELAY_MS = 86_400_000;

const content = z.union([z.string().min(1), z.array(inputBlockSchema).min(1)]);
const sentence = z.string().min(1);
const contexts = z.array(z.array(inputBlockSchema).min(1)).optional();
const callArguments = z.record(z.string(), z.unknown());
const deny = z.strictObject({ kind: z.literal('deny'), reason: sentence });

const decision = <T extends readonly [z.core.$ZodTypeDiscriminable, ...z.core.$ZodTypeDiscriminable[]]>(
  ...kinds: T
) => z.discriminatedUnion('kind', kinds).optional();

/** What a hook may answer; null where the answer is nobody's, or is checked where it is used. */
const ANSWERS: { readonly [P in HookPoint]: z.ZodType | null } = {
  'agent/pre-step': decision(
    z.strictObject({
      kind: z.literal('rewrite'),
      entries: z.array(z.strictObject({ itemId: z.string(), content })),
    }),
    z.strictObject({ kind: z.literal('add'), content }),
    z.strictObject({ kind: z.literal('reject'), note: sentence }),
  ),
  'agent/request': decision(
    z.strictObject({
      kind: z.literal('change'),
      provider: z.string().min(1).optional(),
      model: z.string().min(1).optional(),
      parameters: modelParametersSchema.optional(),
      tools: z.array(z.string()).optional(),
    }),
  ),
  'llm/stream': z.custom(
    (value) => typeof value === 'object' && value !== null && Symbol.asyncIterator in value,
    'must be an async iterable, such as an async generator makes',
  ),
  'agent/request-error': decision(
    z.strictObject({ kind: z.literal('give-up') }),
    z.strictObject({
      kind: z.literal('retry'),
      delayMs: z.number().int().min(0).max(LONGEST_RETRY_DELAY_MS).optional(),
    }),
  ),
  'agent/turn-stopping': decision(z.strictObject({ kind: z.literal('continue'), content })),
  'session/event': null,
  'tools/pre-execute': decision(
    deny,
    z.strictObject({ kind: z.literal('ask'), reason: sentence }),
    z.strictObject({ kind: z.literal('rewrite'), arguments: callArguments }),
  ),
  'tools/guard': decision(deny),
  'tools/execute': null,
  'tools/post-execute': decision(
    z.strictObject({ kind: z.literal('replace'), content, contexts }),
    z.strictObject({ kind: z.literal('mask'), reason: sentence, contexts }),
    z.strictObject({ kind: z.literal('accept'), contexts }),
  ),
  'tools/result': null,
};

export const HOOK_POINTS = Object.keys(ANSWERS) as readonly HookPoint[];

/** Whether hooks of the point have a deadline of their own, and not the time of what they stand around. */
export function hasOwnDeadline(point: HookPoint): boolean {
  return point !== 'tools/execute';
}

/** The hook, which fails where its answer is none of its point's. */
export function withCheckedAnswers(contribution: HookContribution): HookContribution {
  const { point, hook } = contribution;
  const answers = ANSWERS[point];
  if (answers === null) return contribution;
  const run = hook.run as (...args: unknown[]) => unknown;
  const check = (answer: unknown): unknown => {
    const checked = answers.safeParse(answer);
    if (checked.success) return checked.data;
    throw new Error(`its answer is none of ${point}: ${z.prettifyError(checked.error)}`);
  };
  const checkedRun =
    point === 'llm/stream'
      ? (...args: unknown[]) => check(run.apply(hook, args))
      : async (...args: unknown[]) => check(await run.apply(hook, args));
  return { kind: 'hook', point, hook: { ...hook, run: checkedRun } } as HookContribution;
}

/** The hooks of each point, in the order of the contributions. */
export function collectHooks(contributions: readonly HookContribution[]): {
  readonly toolHooks: ToolHooks;
  readonly turnHooks: TurnHooks;
  readonly eventObservers: EventObservers;
} {
  const at = <P extends HookPoint>(point: P) =>
    contributions.flatMap((contribution) =>
      contribution.point === point
        ? [contribution.hook as Extract<HookContribution, { point: P }>['hook']]
        : [],
    );
  return {
    toolHooks: {
      preExecute: at('tools/pre-execute'),
      guards: at('tools/guard'),
      execute: at('tools/execute'),
      postExecute: at('tools/post-execute'),
      observers: at('tools/result'),
    },
    turnHooks: {
      preStep: at('agent/pre-step'),
      request: at('agent/request'),
      stream: at('llm/stream'),
      requestError: at('agent/request-error'),
      turnStopping: at('agent/turn-stopping'),
    },
    eventObservers: at('session/event'),
  };
}
