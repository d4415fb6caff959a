/**
 * Asks the hooks around a turn, point by point, in their order and each with its deadline.
 *
 * Owns what several hooks of a point amount to, and what a failing one does. When a point is asked, and how its word enters
 * the log, is the activities' business: a hook may take seconds, so none is asked inside of a transaction, and none again
 * for what the log has.
 */
import type { Logger } from 'pino';
import type { InputBlock } from '../contract/content.js';
import { assertNever } from '../contract/failures.js';
import { HookFailure, runHook } from '../tools/hooks.js';
import type {
  Blocked,
  ClaimedEntry,
  HookContent,
  HookMessage,
  HookPlace,
  PreStepDecision,
  PreStepInput,
  PreStepOutcome,
  RequestChoice,
  RequestDecision,
  RequestErrorDecision,
  RequestErrorInput,
  RequestInput,
  RequestOutcome,
  TurnHooks,
  TurnStoppingInput,
} from './turn-hooks.js';

type HookLogger = Pick<Logger, 'warn'>;

/**
 * Asks the `agent/pre-step` hooks; each sees the entries as the one before it left them. A hook that fails, or rewrites an
 * entry that is not there, blocks: input that nobody has judged does not reach the model. Never throws.
 */
export async function runPreStep<E extends ClaimedEntry>(
  hooks: TurnHooks['preStep'],
  input: PreStepInput<E>,
): Promise<PreStepOutcome<E>> {
  let entered: Entered<E> = { kind: 'enter', entries: input.entries, added: [] };
  for (const hook of hooks) {
    const before = entered;
    const { entries } = before;
    const outcome = await runHook(hook, async () =>
      afterPreStep(hook.name, before, await hook.run({ ...input, entries })),
    ).catch(blockedBy);
    if (outcome.kind === 'blocked') return outcome;
    entered = outcome;
  }
  return entered;
}

type Entered<E extends ClaimedEntry> = Extract<PreStepOutcome<E>, { kind: 'enter' }>;

function afterPreStep<E extends ClaimedEntry>(
  hook: string,
  before: Entered<E>,
  decision: PreStepDecision,
): PreStepOutcome<E> {
  switch (decision?.kind) {
    case undefined:
      return before;
    case 'reject':
      return { kind: 'blocked', hook, note: decision.note };
    case 'add':
      return { ...before, added: [...before.added, { hook, content: blocksOf(decision.content) }] };
    case 'rewrite': {
      const contents = new Map(decision.entries.map(({ itemId, content }) => [itemId, blocksOf(content)]));
      const entries = before.entries.map((entry) => {
        const content = contents.get(entry.itemId);
        contents.delete(entry.itemId);
        return content === undefined ? entry : { ...entry, content };
      });
      const [strange] = contents.keys();
      if (strange !== undefined) throw new Error(`it rewrote ${JSON.stringify(strange)}, which is no entry`);
      return { ...before, entries };
    }
    default:
      return assertNever(decision);
  }
}

/**
 * Asks the `agent/request` hooks; each sees the request as the one before it left it. A hook that fails, or offers a tool
 * that is not offered, blocks. Whether the model exists is the caller's to check. Never throws.
 */
export async function runRequestHooks(
  hooks: TurnHooks['request'],
  input: RequestInput,
): Promise<RequestOutcome> {
  let { request } = input;
  for (const hook of hooks) {
    const before = request;
    const outcome = await runHook(hook, async () =>
      afterRequest(before, await hook.run({ ...input, request: before })),
    ).catch(blockedBy);
    if ('kind' in outcome) return outcome;
    request = outcome;
  }
  return { kind: 'request', request };
}

function afterRequest(before: RequestChoice, decision: RequestDecision): RequestChoice {
  if (decision === undefined) return before;
  const { provider, model, parameters, tools } = decision;
  const strange = tools?.find((name) => !before.tools.includes(name));
  if (strange !== undefined) {
    throw new Error(`it offered ${JSON.stringify(strange)}, which is no tool of the request`);
  }
  return {
    provider: provider ?? before.provider,
    model: model ?? before.model,
    parameters: parameters ?? before.parameters,
    // In the order that stands: the same tools make the same bytes in each request.
    tools: tools === undefined ? before.tools : before.tools.filter((name) => tools.includes(name)),
  };
}

/** What a hook wants of a failed attempt, with its name. */
export type RequestErrorVerdict = NonNullable<RequestErrorDecision> & { readonly hook: string };

/**
 * Asks the `agent/request-error` hooks until one has an opinion. One that fails has none, and is logged: a turn is not lost
 * for it. Never throws.
 */
export async function askRequestError(
  hooks: TurnHooks['requestError'],
  input: RequestErrorInput,
  logger: HookLogger,
): Promise<RequestErrorVerdict | undefined> {
  for (const hook of hooks) {
    const decision = await runHook(hook, () => hook.run(input)).catch(logFailure(logger, placeOf(input)));
    if (decision !== undefined) return { ...decision, hook: hook.name };
  }
  return undefined;
}

/**
 * Asks the `agent/turn-stopping` hooks and returns what they add, in their order; where it is nothing, the turn stops. One
 * that fails adds nothing, and is logged. Never throws.
 */
export async function askTurnStopping(
  hooks: TurnHooks['turnStopping'],
  input: TurnStoppingInput,
  logger: HookLogger,
): Promise<readonly HookMessage[]> {
  const added: HookMessage[] = [];
  for (const hook of hooks) {
    const decision = await runHook(hook, () => hook.run(input)).catch(logFailure(logger, placeOf(input)));
    if (decision !== undefined) added.push({ hook: hook.name, content: blocksOf(decision.content) });
  }
  return added;
}

function blocksOf(content: HookContent): readonly InputBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function blockedBy(error: unknown): Blocked {
  if (!(error instanceof HookFailure)) throw error;
  return { kind: 'blocked', hook: error.hook, note: error.message };
}

function placeOf({ session, turn, step }: HookPlace) {
  return { sessionId: session.id, turn, step };
}

function logFailure(
  logger: HookLogger,
  place: Readonly<Record<string, unknown>>,
): (error: unknown) => undefined {
  return (error) => {
    logger.warn({ err: error, ...place }, 'a hook failed and is taken to have no opinion');
    return undefined;
  };
}
