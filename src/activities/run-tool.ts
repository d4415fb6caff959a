/**
 * The activity of one tool call: it runs the pipeline and stages the result for its place in the order.
 *
 * Owns when a call counts as started, and that one with effects is never run twice: where an attempt was lost after its
 * receipt, the result says that the outcome is unknown.
 */
import type { CallRef } from '../contract/agent-turn.js';
import { eventKeys } from '../contract/event-keys.js';
import { expireAsks } from '../core/asks.js';
import type { CallState, SessionState } from '../core/session-state.js';
import { abandonedResult, callEvent, unknownOutcome, type CallResult } from '../core/turn-progress.js';
import { isFenced, type AttemptRef, type LogTransaction } from '../store/session-store.js';
import type { PreExecuted } from '../core/permission.js';
import type { ActivityDeps } from './activity-deps.js';
import { activityFailures, currentOwner, withAttemptScope, type AttemptScope } from './activity-scope.js';
import { openStep } from './end-turn.js';
import { FrameWriter } from './frame-writer.js';
import { answerOf, type AnsweredAsk } from './persons-verdict.js';
import { effectiveArguments, rawArguments } from './raw-arguments.js';
import { idempotencyKey, toolContext } from './tool-context.js';
import { offeredTools, settingsInForce } from './turn-settings.js';
import { untilStored } from './until-stored.js';

/** Where a call ended: with its result staged, before its start because a person has yet to answer, or cut off because it took longer than it was given. */
export type ToolRun = 'staged' | 'waiting' | 'too-slow';

/**
 * What is written without waiting for the disk: the start of a call and its staged result. A power cut that loses them
 * leaves a call that runs again (a read) or one whose receipt, which is synced, says that its outcome is unknown.
 */
const RELAXED = { durability: 'relaxed' } as const;

type Beginning =
  | { readonly kind: 'staged' }
  | { readonly kind: 'waiting' }
  /** An earlier attempt had started and has effects: it is not run again. */
  | { readonly kind: 'outcome-unknown'; readonly ref: AttemptRef & { readonly call: number } }
  | {
      readonly kind: 'attempt';
      readonly ref: AttemptRef & { readonly call: number };
      readonly call: CallState;
      readonly arguments: string;
      readonly state: SessionState;
      /** Whether an earlier attempt of the call may have left something running. */
      readonly repeated: boolean;
      readonly observed: ReadonlyMap<string, string>;
      /** What a person answered; null where nobody was asked. */
      readonly answered: AnsweredAsk | null;
      readonly preExecuted: PreExecuted | null;
    };

/** @param limitMs for a `read` that is run on the way: past it the call is cut off, to be run again in its own activity. */
export type RunTool = (ref: CallRef, limitMs?: number) => Promise<ToolRun>;

export function createRunTool(deps: ActivityDeps): RunTool {
  return async function runTool(ref, limitMs) {
    const beginning = await begin(deps, ref);
    if (beginning.kind === 'staged' || beginning.kind === 'waiting') return beginning.kind;
    if (beginning.kind === 'outcome-unknown') {
      // What the lost attempt left running is ended before its turn goes on.
      await deps.endLeftovers(idempotencyKey(ref));
      await deps.store.transact(
        ref.uid,
        (transaction) => stage(transaction, beginning.ref, unknownOutcome()),
        RELAXED,
      );
      return 'staged';
    }
    return withAttemptScope(ref, deps, (scope) => runAttempt(deps, { ref, scope, beginning }, limitMs));
  };
}

async function begin(deps: ActivityDeps, ref: CallRef): Promise<Beginning> {
  const owner = currentOwner(ref);
  const beginOnce = async (transaction: LogTransaction): Promise<Beginning | undefined> => {
    const turn = transaction.state.openTurn;
    // The engine is behind the log: `advance` says where the turn stands.
    if (turn?.number !== ref.turn || turn.step?.number !== ref.step) return { kind: 'staged' };
    const call = turn.step.calls[ref.index];
    // A cancelled turn starts nothing more: its end settles the call.
    if (call === undefined || call.resultSeq !== null || turn.cancel !== null) return { kind: 'staged' };
    const staged = await transaction.staged(ref.turn, ref.step);
    if (staged.some(({ index }) => index === ref.index)) return { kind: 'staged' };
    // The log decides, whoever told the engine what: an ask that is open is waited for, one whose time is over is closed.
    await transaction.append(expireAsks(transaction.state, transaction.at));
    const ask = openStep(transaction).step.calls[ref.index]?.ask ?? null;
    const answered = ask === null ? null : answerOf(ask);
    if (ask !== null && answered === null) return { kind: 'waiting' };
    const grant = await transaction.openAttempt({ turn: ref.turn, step: ref.step, call: ref.index }, owner);
    if (grant.kind === 'superseded') return undefined;
    if (grant.kind === 'stale') throw activityFailures.stale();
    const attempt = { turn: ref.turn, step: ref.step, call: ref.index, attempt: grant.attempt };
    if (call.startedAttempts.length > 0 && mayHaveEffect(deps, call)) {
      return { kind: 'outcome-unknown', ref: attempt };
    }
    await announceCalls(deps, transaction, ref);
    const readBlob: LogTransaction['readBlob'] = (sha256) => transaction.readBlob(sha256);
    const preExecuted = await preExecutedWord(deps, transaction, ref);
    const observed = staged.flatMap(({ meta }) => observedIn(meta));
    return {
      kind: 'attempt',
      ref: attempt,
      call,
      arguments: await plannedArguments(call, { preExecuted, readBlob }),
      state: transaction.state,
      repeated: grant.attempt > 1,
      observed: new Map(observed),
      answered,
      preExecuted,
    };
  };
  const beginning = await deps.store.transact(ref.uid, beginOnce, RELAXED);
  if (beginning === undefined) throw activityFailures.superseded();
  return beginning;
}

/** A tool that is gone from the configuration may have done anything; a receipt without effects is only an idempotent one. */
function mayHaveEffect(deps: ActivityDeps, { name }: CallState): boolean {
  return (deps.registry.get(name)?.effect ?? 'effect') === 'effect';
}

/**
 * What the pre-execute hooks said when the step was planned. A call that a person was asked about is not shown to hooks
 * that came later: it is what the person saw that runs.
 */
async function preExecutedWord(
  deps: ActivityDeps,
  transaction: LogTransaction,
  { turn, step, index }: CallRef,
): Promise<PreExecuted | null> {
  const wasAsked = openStep(transaction).step.calls[index]?.ask != null;
  if (!wasAsked && !deps.pipeline.asksHooks) return null;
  const recorded = (await transaction.preExecuted(turn, step))?.[index] ?? null;
  return recorded ?? (wasAsked ? { decision: { kind: 'allow', reason: '' } } : null);
}

/** What runs unless a person changed it: what was asked about, else what the hooks made of the model's arguments. */
async function plannedArguments(
  call: CallState,
  { preExecuted, readBlob }: { preExecuted: PreExecuted | null; readBlob: LogTransaction['readBlob'] },
): Promise<string> {
  if (call.ask?.kind === 'approval') return rawArguments(call.ask, readBlob);
  return effectiveArguments(await rawArguments(call, readBlob), preExecuted);
}

/**
 * `tool/call` of the call that starts, and before it those of the calls in front of it: they start in the model's
 * order, and parallel ones at the same time, so theirs may still be under way.
 */
async function announceCalls(
  deps: ActivityDeps,
  transaction: LogTransaction,
  { index, mode }: CallRef,
): Promise<void> {
  const place = openStep(transaction);
  const silent = place.step.calls.filter((call) => call.index <= index && call.callSeq === null);
  await transaction.append(
    silent.map((call) =>
      callEvent(place, call, {
        effect: deps.registry.get(call.name)?.effect ?? 'read',
        // An exclusive call in front of this one has settled, so what is still silent there is parallel.
        mode: call.index === index ? mode : 'parallel',
      }),
    ),
  );
}

function observedIn(meta: Readonly<Record<string, unknown>> | undefined): [string, string][] {
  const observed = (meta?.['observed'] ?? []) as readonly { path: string; version: string }[];
  return observed.map(({ path, version }) => [path, version]);
}

async function stage(
  transaction: LogTransaction,
  ref: AttemptRef & { readonly call: number },
  result: CallResult,
): Promise<void> {
  await transaction.closeAttempt(ref);
  await transaction.stage(ref.turn, ref.step, { index: ref.call, ...result });
}

interface Running {
  readonly ref: CallRef;
  readonly scope: AttemptScope;
  readonly beginning: Extract<Beginning, { kind: 'attempt' }>;
}

async function runAttempt(deps: ActivityDeps, running: Running, limitMs?: number): Promise<ToolRun> {
  const { ref, scope, beginning } = running;
  const settings = settingsInForce(beginning.state, deps);
  const frames = new FrameWriter(deps.store, ref.uid, beginning.ref, (error) => {
    if (isFenced(error)) scope.stop('given-up');
  });
  const { call, arguments: planned, state, observed, answered, preExecuted } = beginning;
  const context = toolContext(deps, {
    ref,
    callId: call.callId,
    state,
    settings,
    signal: scope.signal,
    observed,
    answers: answered?.answers ?? [],
    show: (chunk) => {
      frames.push(chunk);
    },
  });
  // What an earlier attempt left running is ended before the call runs again.
  if (beginning.repeated) await deps.endLeftovers(context.idempotencyKey);
  const limit = limitRun(scope, limitMs);
  try {
    const outcome = await deps.pipeline.executeCall({
      call: {
        callId: call.callId,
        name: call.name,
        arguments: effectiveArguments(planned, answered),
      },
      selection: offeredTools(state),
      policy: settings.policy,
      workspace: settings.workspace,
      context,
      ...(preExecuted === null ? {} : { preExecuted: { decision: preExecuted.decision } }),
      ...(answered === null ? {} : { verdict: answered.verdict }),
      beforeBody: () => receipt(deps, running),
    });
    frames.push({
      type: 'tool-finished',
      isError: outcome.isError,
      ...(outcome.error === undefined ? {} : { code: outcome.error.code }),
    });
    await frames.flush().catch(() => undefined);
    const result = toldOfEdit(outcome, answered);
    await untilStored({ scope, logger: deps.logger }, () =>
      deps.store.transact(ref.uid, (transaction) => stage(transaction, beginning.ref, result), RELAXED),
    );
    return 'staged';
  } catch (error) {
    if (scope.stopped === 'given-up') throw activityFailures.givenUp();
    if (scope.stopped === undefined || isFenced(error)) throw error;
    return await stoppedOutcome(deps, running, limit.reached());
  } finally {
    limit.clear();
  }
}

/** The model is told where a person changed what it had asked for. */
function toldOfEdit(result: CallResult, answered: AnsweredAsk | null): CallResult {
  if (answered?.arguments === undefined) return result;
  const text = `[A person changed the arguments of this call to ${JSON.stringify(answered.arguments)}]`;
  return { ...result, content: [{ type: 'text', text }, ...result.content] };
}

/** A cancelled call has `ABORTED` as its result; one whose worker stops is left to the next attempt. */
async function stoppedOutcome(
  deps: ActivityDeps,
  { ref, scope, beginning }: Running,
  tooSlow: boolean,
): Promise<ToolRun> {
  const cancelled = scope.stopped === 'cancelled' && !tooSlow;
  await deps.store.transact(ref.uid, async (transaction) => {
    const call = transaction.state.openTurn?.step?.calls[ref.index] ?? beginning.call;
    if (cancelled) await stage(transaction, beginning.ref, abandonedResult(call, true, true));
    else await transaction.closeAttempt(beginning.ref);
  });
  if (cancelled) return 'staged';
  if (tooSlow) return 'too-slow';
  throw activityFailures.shutdown();
}

/** Cuts a run off after its time. */
function limitRun(scope: AttemptScope, limitMs: number | undefined): { reached(): boolean; clear(): void } {
  let reached = false;
  const timer =
    limitMs === undefined
      ? undefined
      : setTimeout(() => {
          reached = scope.stopped === undefined;
          scope.stop('cancelled');
        }, limitMs);
  return {
    reached: () => reached,
    clear: () => {
      clearTimeout(timer);
    },
  };
}

/** The receipt: from here on a call with effects counts as run, whatever becomes of its worker. */
async function receipt(deps: ActivityDeps, { ref, beginning }: Running): Promise<void> {
  const effect = deps.registry.get(beginning.call.name)?.effect ?? 'read';
  if (effect === 'read') return;
  const { turn, step, call, attempt } = beginning.ref;
  await deps.store.transact(ref.uid, async (transaction) => {
    await transaction.requireAttempt(beginning.ref);
    await transaction.append([
      {
        type: 'tool/started',
        key: eventKeys.toolStarted(turn, step, call, attempt),
        turn,
        step,
        data: {
          callId: beginning.call.callId,
          attempt,
          hostId: deps.hostId,
          startedAt: transaction.at,
        },
      },
    ]);
  });
}
