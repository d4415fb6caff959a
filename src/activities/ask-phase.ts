/**
 * The ask phase of a step: after the model's message and before its first call, everything that a person has to decide
 * or answer is asked, in call order (DESIGN 10).
 *
 * Owns what is asked and what is recorded of the plan. The waiting is the workflow's, the answers are the API's.
 */
import type { PlannedCall, StepRef } from '../contract/agent-turn.js';
import { eventKeys } from '../contract/event-keys.js';
import type { NewEvent } from '../contract/events.js';
import type { FinishReason } from '../contract/chunks.js';
import type { ApprovalId, QuestionId } from '../contract/ids.js';
import { approvalDecided, ASKED_BY, isOpen, questionAnswered } from '../core/asks.js';
import type { CallState, OpenStep, SessionState } from '../core/session-state.js';
import { digestOf } from '../store/digest.js';
import type { LogTransaction } from '../store/session-store.js';
import type { CallPlan } from '../tools/pipeline.js';
import type { ToolSelection } from '../tools/registry.js';
import type { ActivityDeps } from './activity-deps.js';
import { rawArguments } from './raw-arguments.js';
import { toolContext } from './tool-context.js';
import { offeredTools, settingsInForce, type TurnSettings } from './turn-settings.js';

/** How the calls of a settled message are to be run. */
export interface StepPlan {
  readonly finish: FinishReason;
  readonly calls: readonly PlannedCall[];
  /** Whether every call may run at once and on the way. */
  readonly allQuick: boolean;
}

/**
 * Plans the calls of the open step and asks what is to be asked. Not for the inside of a transaction: hooks are asked.
 *
 * @returns null where the turn was cancelled meanwhile, or is not at this step any more.
 */
export async function planStep(
  deps: ActivityDeps,
  ref: StepRef,
  scope: { readonly state: SessionState; readonly signal: AbortSignal },
): Promise<StepPlan | null> {
  const step = stepOf(scope.state, ref);
  if (step === null) return null;
  if (step.message === null) throw new Error('The step has no message.');
  const { finish } = step.message;
  if (step.calls.length === 0) return { finish, calls: [], allQuick: true };
  const settings = settingsInForce(scope.state, deps);
  const selection = offeredTools(scope.state);
  const plans = await planCalls(deps, ref, { step, settings, selection });
  const asks = isAsked(step) ? [] : await asksOf(deps, ref, { ...scope, step, settings, plans });
  const recorded = plans.some(({ preExecuted }) => preExecuted !== undefined);
  const state =
    asks.length === 0 && !recorded
      ? scope.state
      : await deps.store.transact(
          ref.uid,
          async (transaction) => {
            if (stepOf(transaction.state, ref) === null) return transaction.state;
            if (recorded) {
              const plan = plans.map(({ preExecuted }) => preExecuted ?? null);
              await transaction.savePlan(ref.turn, ref.step, plan);
            }
            await ask(transaction, asks, settings.profile.approvalExpiresMs);
            return transaction.state;
          },
          { durability: asks.length === 0 ? 'relaxed' : 'full' },
        );
  const calls = stepOf(state, ref)?.calls;
  if (calls === undefined) return null;
  const planned = plans.map(({ mode }, index): PlannedCall => ({ mode, ...openAsk(calls[index]) }));
  const isQuick = ({ quick, mode }: CallPlan) => quick && mode === 'parallel';
  const allQuick =
    plans.every(isQuick) &&
    plans.length <= settings.profile.maxParallelToolCalls &&
    calls.every((call) => call.ask === null);
  return { finish, calls: planned, allQuick };
}

/** The open step, unless the log is past it or the turn is cancelled. */
function stepOf({ openTurn }: SessionState, { turn, step }: StepRef): OpenStep | null {
  const isHere = openTurn?.number === turn && openTurn.step?.number === step && openTurn.cancel === null;
  return isHere ? openTurn.step : null;
}

/** All is asked at once: a step that has asked, or started a call, asks no more. */
function isAsked({ calls }: OpenStep): boolean {
  return calls.some(({ ask: asked, callSeq }) => asked !== null || callSeq !== null);
}

/** Where a call waits for a person: whom it asked, and until when. */
function openAsk(call: CallState | undefined): Pick<PlannedCall, 'asked'> {
  const asked = call?.ask ?? null;
  if (asked === null || !isOpen(asked)) return {};
  const id = asked.kind === 'approval' ? asked.approvalId : asked.questionId;
  return {
    asked: { id, ...(asked.expiresAt === null ? {} : { expiresAt: Date.parse(asked.expiresAt) }) },
  };
}

async function planCalls(
  deps: ActivityDeps,
  ref: StepRef,
  scope: { readonly step: OpenStep; readonly settings: TurnSettings; readonly selection: ToolSelection },
): Promise<CallPlan[]> {
  const { step, settings, selection } = scope;
  const recorded = deps.pipeline.asksHooks
    ? await deps.store.transact(ref.uid, (transaction) => transaction.plan(ref.turn, ref.step))
    : null;
  const plans: CallPlan[] = [];
  for (const call of step.calls) {
    const raw = await rawArguments(call, (sha256) => deps.store.readBlob(ref.uid, sha256));
    const preExecuted = recorded?.[call.index] ?? undefined;
    plans.push(
      await deps.pipeline.planCall({
        call: { callId: call.callId, name: call.name, arguments: raw },
        selection,
        policy: settings.policy,
        ...(preExecuted === undefined ? {} : { preExecuted }),
      }),
    );
  }
  return plans;
}

type Asked = (context: {
  readonly at: { readonly turn: number; readonly step: number };
  readonly expiresAt: Pick<AskedTimes, 'expiresAt'>;
}) => NewEvent;
interface AskedTimes {
  readonly expiresAt?: string;
}

interface AskScope {
  readonly state: SessionState;
  readonly signal: AbortSignal;
  readonly step: OpenStep;
  readonly settings: TurnSettings;
  readonly plans: readonly CallPlan[];
}

/** What is to be asked, in call order; the time of asking is filled in when it is appended. */
async function asksOf(deps: ActivityDeps, ref: StepRef, scope: AskScope): Promise<Asked[]> {
  const asks: Asked[] = [];
  for (const call of scope.step.calls) {
    const plan = scope.plans[call.index];
    if (plan?.decision.kind === 'ask') {
      asks.push(await approvalAsked(deps, ref, { ...scope, call, plan }));
    } else if (plan?.decision.kind === 'allow' && plan.questions !== undefined) {
      asks.push(questionAsked(deps, call, plan.questions));
    }
  }
  return asks;
}

async function approvalAsked(
  deps: ActivityDeps,
  ref: StepRef,
  scope: AskScope & { readonly call: CallState; readonly plan: CallPlan },
): Promise<Asked> {
  const { call, plan, state, signal, settings } = scope;
  const rewritten = plan.preExecuted?.arguments;
  const raw =
    rewritten === undefined
      ? await rawArguments(call, (sha256) => deps.store.readBlob(ref.uid, sha256))
      : JSON.stringify(rewritten);
  const context = toolContext(deps, {
    ref: { ...ref, index: call.index },
    callId: call.callId,
    state,
    settings,
    signal,
  });
  const preview = await deps.pipeline.previewCall(
    { callId: call.callId, name: call.name, arguments: raw },
    context,
  );
  const approvalId = deps.ids.uuid() as ApprovalId;
  return ({ at, expiresAt }) => ({
    type: 'approval/asked',
    key: eventKeys.approvalAsked(at.turn, at.step, call.index),
    ...at,
    data: {
      approvalId,
      callId: call.callId,
      tool: call.name,
      arguments: raw,
      argumentsSha256: digestOf(new TextEncoder().encode(raw)),
      reason: plan.decision.reason,
      ...expiresAt,
      ...(preview === undefined ? {} : { preview }),
    },
  });
}

function questionAsked(
  deps: ActivityDeps,
  call: CallState,
  questions: NonNullable<CallPlan['questions']>,
): Asked {
  const questionId = deps.ids.uuid() as QuestionId;
  return ({ at, expiresAt }) => ({
    type: 'question/asked',
    key: eventKeys.questionAsked(at.turn, at.step, call.index),
    ...at,
    data: { questionId, callId: call.callId, questions: [...questions], ...expiresAt },
  });
}

/** Appends what is asked; where nobody can answer, it is closed in the same append. */
async function ask(
  transaction: LogTransaction,
  asks: readonly Asked[],
  expiresMs: number | null,
): Promise<void> {
  const { openTurn } = transaction.state;
  if (asks.length === 0 || openTurn?.step == null) return;
  const at = { turn: openTurn.number, step: openTurn.step.number };
  const expiresAt =
    expiresMs === null ? {} : { expiresAt: new Date(Date.parse(transaction.at) + expiresMs).toISOString() };
  const events = asks.map((make) => make({ at, expiresAt }));
  await transaction.append([
    ...events,
    ...(openTurn.unattended ? events.map((event) => unavailable(transaction.state, event)) : []),
  ]);
}

function unavailable(state: SessionState, event: NewEvent): NewEvent {
  if (event.type === 'approval/asked') {
    const { approvalId } = event.data;
    return approvalDecided(state, { approvalId, outcome: 'unavailable', by: ASKED_BY });
  }
  if (event.type !== 'question/asked') throw new Error(`${event.type} asks nobody.`);
  const { questionId } = event.data;
  return questionAnswered(state, { questionId, answers: null, by: ASKED_BY, outcome: 'withdrawn' });
}
